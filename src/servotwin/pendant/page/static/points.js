// Points: record, touch up, rename, delete, go to while the key is held.
import { holdButton, holdMotion } from './hold.js';
import { desk, press } from './link.js';

export class PointList {
  constructor(message, jogPad, scene) {
    this.message = message; this.pad = jogPad; this.scene = scene; this.job = 'pendant.job'; this.version = -1; this.names = [];
    this.name = document.getElementById('point-name');
    document.getElementById('record').onclick = () => this.record(this.name.value.trim() || this.free(), false);
    this.name.onkeydown = event => { if (event.key === 'Enter') document.getElementById('record').click(); };
  }
  free() { let k = 1; while (this.names.includes(`P${k}`)) k++; return `P${k}`; }
  async record(name, replace) {
    const answer = await press('record', { name, replace });
    this.message(answer.ok ? `${replace ? 'touched up' : 'recorded'} ${name}` : answer.text, !answer.ok);
    if (answer.ok && !replace) this.name.value = '';
  }
  look(picture) {
    const job = picture.job || 'pendant.job';
    if (picture.points === this.version && job === this.job) return;
    this.version = picture.points; this.job = job;
    this.load();
  }
  async load() {
    const mine = this.asked = (this.asked || 0) + 1, answer = await desk('points', { name: this.job });
    if (mine !== this.asked) return;
    if (!answer.ok) { this.message(answer.text, true); return; }
    this.names = answer.points.map(p => p.name);
    this.name.placeholder = this.free();
    this.pad.setFrames(answer.frames);
    this.scene.setTargets(answer.points.filter(p => p.pose).map(p => ({ name: p.name, pose: p.pose })));
    document.getElementById('points-empty').hidden = answer.points.length > 0;
    document.getElementById('points').replaceChildren(...answer.points.map(p => this.row(p)));
    this.onload?.();
  }
  row(point) {
    const row = document.createElement('tr'), [name, where, acts] = [0, 1, 2].map(() => document.createElement('td'));
    name.textContent = point.name; where.textContent = point.text.replace(/ (?=mm|deg)/g, '\u00a0'); where.className = 'where'; acts.className = 'acts';
    const button = (text, title) => { const b = document.createElement('button'); b.textContent = text; b.title = title; acts.append(b); return b; };
    const go = button('Go', 'Hold to move to the point');
    go.setAttribute('aria-label', `go to ${point.name}`);
    holdButton(go, () => {
      holdMotion(true);
      press('go to', { name: point.name }).then(a => { if (!a.ok) this.message(a.text, true); });
    }, () => holdMotion(false));
    button('Touch up', 'Replace by where the arm stands').onclick = () => this.record(point.name, true);
    button('Rename', 'Rename, in the job too').onclick = () => this.rename(point.name, name);
    button('\u2715', 'Delete').onclick = async event => {
      if (!event.target.dataset.sure) { event.target.dataset.sure = '1'; event.target.textContent = 'sure?'; setTimeout(() => { event.target.dataset.sure = ''; event.target.textContent = '\u2715'; }, 2500); return; }
      const answer = await press('delete', { name: point.name });
      this.message(answer.ok ? `deleted ${point.name}` : answer.text, !answer.ok);
    };
    row.append(name, where, acts);
    return row;
  }
  rename(old, cell) {
    const input = document.createElement('input');
    input.value = old; input.maxLength = 60; input.size = 6;
    cell.replaceChildren(input);
    input.focus(); input.select();
    let open = true; // taking the field away blurs it, which must not count as a second answer
    const done = async keep => {
      if (!open) return;
      open = false;
      const fresh = input.value.trim();
      cell.textContent = old;
      if (!keep || !fresh || fresh === old || (await this.saved?.()) === false) return; // it is renamed in the job that is shown
      const answer = await press('rename', { name: old, new: fresh });
      this.message(answer.ok ? `${old} is now ${fresh}` : answer.text, !answer.ok);
    };
    input.onkeydown = event => { if (event.key === 'Enter') done(true); if (event.key === 'Escape') { event.stopPropagation(); done(false); } };
    input.onblur = () => done(true);
  }
}
