// The job editor: colours behind a text area, mistakes at their lines as one types, layout, preview, and play back.
import { holdButton, holdMotion } from './hold.js';
import { desk, press } from './link.js';

const KEYWORDS = new Set(('MOVEJ MOVEL MOVEC SPLINE VIA TO PALLET ABOVE OFFSET TOOL SPEED TIME ACC BLEND PROFILE OPTIMAL ENERGY FRAME NONE ' +
  'SHAPER BASE WAIT SET ON OFF LET INC BY NEXT RESET CALL ALARM BREAK RETURN STOP REPEAT FOREVER END IF ELSE FULL ' +
  'WAITFOR TIMEOUT SUB ROWS COLUMNS LAYERS ORIGIN ROW COLUMN LAYER').split(' '));
const PARTS = /(#.*)|("[^"\n]*"?)|(\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:\s?(?:%|mm|cm|m|deg|rad|s|ms)(?:\/s2?)?\b|%)?)|([A-Za-z_][\w-]*)/g;
const plain = text => text.replace(/[&<>]/g, c => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]);
const painted = line => {
  let out = '', at = 0;
  for (const m of line.matchAll(PARTS)) {
    const kind = m[1] ? 'c' : m[2] ? 's' : m[3] ? 'n' : KEYWORDS.has(m[0].toUpperCase()) ? 'k' : 'p';
    out += plain(line.slice(at, m.index)) + `<span class="${kind}">${plain(m[0])}</span>`;
    at = m.index + m[0].length;
  }
  return out + plain(line.slice(at));
};
const byId = id => document.getElementById(id);
const DRAFT = 'servotwin-draft'; // of this tab: {name, text, known}, what is not saved yet

export class Editor {
  constructor(message, scene) {
    this.draft = Editor.draft(); // of the page before it was loaded again
    Object.assign(this, { message, scene, name: 'pendant.job', unsaved: false, known: '', problems: [], line: null, asked: 0, loaded: '',
      wanted: this.draft?.name ?? 'pendant.job', watching: false, watched: null, opening: 0, listing: 0, saving: Promise.resolve() });
    this.text = byId('text');
    this.text.readOnly = true; // until a job is open: what stands in its file must not be overwritten unseen
    this.text.oninput = () => { this.dirty = true; this.paint(); this.later(); };
    this.text.onscroll = () => this.follow();
    this.text.onkeydown = event => {
      if (event.key === 'Tab') { event.preventDefault(); this.text.setRangeText('  ', this.text.selectionStart, this.text.selectionEnd, 'end'); this.text.oninput(); }
      if ((event.ctrlKey || event.metaKey) && event.key === 's') { event.preventDefault(); this.save(); }
    };
    byId('jobs').onchange = event => this.open(event.target.value);
    byId('new-job').onclick = () => this.create();
    byId('save').onclick = () => this.save();
    byId('layout').onclick = () => this.layout();
    byId('preview').onclick = () => this.preview();
    this.buttons();
    this.paint();
  }
  // Whether something is not saved. A tab that is loaded again, or has crashed, finds it where it was.
  get dirty() { return this.unsaved; }
  set dirty(unsaved) {
    this.unsaved = unsaved;
    try {
      if (unsaved) sessionStorage.setItem(DRAFT, JSON.stringify({ name: this.name, text: this.text.value, known: this.known }));
      else sessionStorage.removeItem(DRAFT);
    } catch { /* a browser that keeps nothing */ }
  }
  static draft() { try { return JSON.parse(sessionStorage.getItem(DRAFT)); } catch { return null; } }
  async list() {
    const mine = ++this.listing, answer = await desk('jobs');
    if (!answer.ok || mine !== this.listing) return;
    this.names = answer.jobs;
    this.choices();
  }
  // The selector shows the job that is wanted, from the moment it is chosen.
  choices() {
    const names = this.names || [], all = names.includes(this.wanted) ? names : [this.wanted, ...names];
    byId('jobs').replaceChildren(...all.map(name => new Option(name, name)));
    byId('jobs').value = this.wanted;
  }
  // Asks for what is shown next, once all that was typed is saved. Several may be asked for before the first answer:
  // the last one counts, and the others get null.
  async next(name, what, words = {}) {
    const mine = ++this.opening;
    this.wanted = name;
    let answer;
    do {
      const saved = !this.dirty || await this.save();
      if (mine !== this.opening) return null;
      answer = saved ? await desk(what, words) : null;
      if (mine !== this.opening) return null;
      if (!answer?.ok) { if (answer) this.message(answer.text, true); this.wanted = this.name; this.choices(); return null; }
    } while (this.dirty);
    return answer;
  }
  async open(name) {
    const answer = await this.next(name, 'read', { name }), mine = this.opening;
    if (!answer) return;
    this.take(name, answer.content);
    this.restore();
    await this.list();
    if (mine !== this.opening) return; // the points of another one may be loaded by now
    const points = await press('load', { job: name });
    if (points.ok && mine === this.opening && !this.dirty) this.loaded = name;
  }
  // The file may have changed: a point that is renamed is renamed in the job, too. What is typed stays.
  async again() {
    const mine = this.opening, name = this.name, before = this.text.value;
    if (!this.dirty && !this.text.readOnly) {
      const answer = await desk('read', { name }), untouched = mine === this.opening && !this.dirty && this.text.value === before;
      if (answer.ok && untouched && before !== answer.content) { this.take(name, answer.content); return; }
    }
    this.check();
  }
  // This page operates, at first or again: another one may have loaded another job, or changed this one.
  async begin() {
    this.loaded = '';
    if (!this.text.readOnly) { this.again(); return; }
    const before = this.opening;
    await this.list();
    if (before === this.opening) this.open(this.wanted);
  }
  // Whether this page only watches: its keys are off, and it shows the job of the arm, unless it has one open itself.
  watch(watching) {
    this.watching = watching;
    document.querySelectorAll('#tab-job button, #jobs').forEach(e => { e.disabled = watching; });
    if (watching) { this.watched = null; this.asked++; byId('problems').replaceChildren(); }
    else if (this.text.readOnly) this.name = this.wanted; // what it opens now, not what it showed
  }
  async watchJob(picture) {
    const latest = `${picture.job} ${picture.state} ${picture.points}`;
    if (!this.watching || !this.text.readOnly || latest === this.watched || !byId('tab-job').classList.contains('on')) return;
    this.watched = latest;
    const answer = picture.job ? await desk('read', { name: picture.job }) : { ok: true, content: '' };
    if (!this.watching || !this.text.readOnly || latest !== this.watched) return; // it operates by now, or there is a later one
    byId('problems').textContent = answer.ok ? picture.job ? '' : 'no job is loaded' : answer.text;
    if (!answer.ok) return;
    byId('jobs').replaceChildren(...(picture.job ? [new Option(picture.job, picture.job)] : []));
    this.name = picture.job; this.text.value = answer.content; this.line = null;
    this.paint();
  }
  async create() {
    const answer = await this.next(this.name, 'jobs');
    if (!answer) return;
    this.names = answer.jobs;
    let k = 1;
    while (this.names.includes(`job-${k}.job`)) k++;
    this.wanted = `job-${k}.job`;
    this.take(this.wanted, '');
    this.dirty = true;
    this.choices();
  }
  take(name, content) {
    this.name = name; this.text.value = this.known = content; this.text.readOnly = false; this.dirty = false; this.loaded = ''; this.problems = [];
    this.clearPlan(); this.paint(); this.check();
  }
  // What was not saved when the page was loaded again.
  restore() {
    const draft = this.draft;
    if (draft?.name !== this.name) return;
    this.draft = null;
    if (draft.text === this.text.value) return;
    this.text.value = draft.text; this.known = draft.known; this.dirty = true;
    this.message(`what was not saved of ${this.name} is back`);
    this.paint(); this.check();
  }
  // One after the other, so that the latest text is the one that stays.
  save() { return this.saving = this.saving.then(() => this.write()); }
  async write() {
    if (this.text.readOnly) { this.message('no job is open yet', true); return false; }
    const name = this.name, text = this.text.value, answer = await desk('save', { name, text, known: this.known });
    if (!answer.ok) { this.message(answer.text, true); return false; }
    this.loaded = '';
    if (this.name === name) { this.known = text; this.dirty = this.text.value !== text; } // one typed on meanwhile
    this.message(`saved ${name}${answer.kept ? `; it had been changed elsewhere, which is kept as ${answer.kept}` : ''}`);
    await this.list();
    return true;
  }
  async layout() {
    const before = this.text.value, answer = await desk('layout', { text: before });
    if (!answer.ok) { this.message(answer.text, true); return; }
    if (this.text.value !== before) return; // one typed on meanwhile
    this.text.value = answer.content; this.dirty = true; this.paint(); this.check();
  }
  later() { clearTimeout(this.timer); this.timer = setTimeout(() => this.check(), 250); this.clearPlan(); }
  async check() {
    if (this.watching) return;
    const mine = ++this.asked, answer = await desk('check', { name: this.name, text: this.text.value });
    if (mine !== this.asked) return;
    const list = byId('problems');
    if (!answer.ok) { list.textContent = answer.text; return; }
    this.problems = answer.problems;
    list.replaceChildren(...(answer.problems.length ? answer.problems : [{ line: 0, text: 'no mistakes found', error: false }]).map(p => {
      const row = document.createElement('div');
      row.className = p.line ? (p.error ? '' : 'warn') : 'good';
      row.textContent = p.line ? `line ${p.line}: ${p.text}` : p.text;
      row.onclick = () => p.line && this.goTo(p.line);
      return row;
    }));
    this.paint();
  }
  goTo(line) {
    const lines = this.text.value.split('\n'), at = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
    this.text.focus(); this.text.setSelectionRange(at, at + (lines[line - 1] || '').length);
    this.text.scrollTop = Math.max(0, (line - 4) * 20); this.follow();
  }
  paint() {
    const wrong = new Map(this.problems.map(p => [p.line, p])), lines = this.text.value.split('\n');
    byId('paint').innerHTML = lines.map((line, k) => {
      const kind = wrong.get(k + 1)?.error ? 'bad-line' : k + 1 === this.line ? 'at-line' : '';
      return kind ? `<span class="${kind}">${painted(line) || ' '}</span>` : painted(line);
    }).join('\n') + '\n';
    byId('gutter').innerHTML = lines.map((_, k) => {
      const p = wrong.get(k + 1);
      return p ? `<b class="${p.error ? '' : 'warn'}">${k + 1}</b>` : k + 1 === this.line ? `<i>\u25b6${k + 1}</i>` : `${k + 1}`;
    }).join('\n') + '\n';
    this.follow();
  }
  follow() {
    byId('paint').scrollTop = byId('gutter').scrollTop = this.text.scrollTop;
    byId('paint').scrollLeft = this.text.scrollLeft;
  }
  clearPlan() { this.planned = (this.planned || 0) + 1; byId('plan').replaceChildren(); this.scene.clearTrace('plan'); }
  async preview() {
    this.clearPlan();
    byId('plan').textContent = 'planning \u2026';
    const mine = this.planned, answer = await desk('preview', { name: this.name, text: this.text.value });
    if (mine !== this.planned) return; // of a text that is no more
    if (!answer.ok) { this.clearPlan(); this.message(answer.text, true); return; }
    const plan = answer.plan;
    this.scene.setTrace('plan', plan.trace, { ink: '#009e73', width: 2.5 });
    const head = document.createElement('div'), bars = document.createElement('div');
    head.textContent = plan.finished ? `${plan.duration.toFixed(2)} s, ${plan.motions} motions, tool up to ${(1000 * plan.fastest).toFixed(0)} mm/s`
      : `does not finish: ${plan.reason || plan.alarms.join('; ')}`;
    bars.className = 'bars';
    bars.style.gridTemplateColumns = `repeat(auto-fit, minmax(${Math.max(10, 6 + Math.max(...plan.limits.map(limit => limit.axis.length)))}ch, 1fr))`;
    for (const limit of plan.limits) {
      const part = document.createElement('div'), bar = document.createElement('div'), fill = document.createElement('i');
      const share = Math.max(limit.speed || 0, limit.acceleration || 0);
      part.textContent = `${limit.axis} ${(100 * share).toFixed(0)} %`; part.title = 'largest share of the limits of speed and acceleration';
      bar.className = `share${share > 0.95 ? ' high' : ''}`; fill.style.width = `${Math.min(100, 100 * share)}%`;
      bar.append(fill); part.append(bar); bars.append(part);
    }
    byId('plan').replaceChildren(head, bars);
  }
  buttons() {
    const said = answer => { if (!answer.ok) this.message(answer.text, true); };
    // What is played is what is shown: saved, and loaded by this page.
    const loaded = async () => {
      if (this.wanted !== this.name) { this.message(`${this.wanted} is not open yet`, true); return false; }
      if (this.dirty && !(await this.save())) return false;
      if (this.loaded === this.name && this.job === this.name) return true;
      const name = this.name, answer = await press('load', { job: name });
      said(answer);
      if (answer.ok) this.loaded = name;
      return answer.ok;
    };
    // Stop or Pause while a job is still saved and loaded: it does not begin afterwards.
    let halts = 0;
    const halt = async key => { halts++; said(await press(key)); };
    const begin = async key => {
      const before = halts;
      if (await loaded() && before === halts) said(await press(key));
    };
    const start = async () => {
      if (this.state === 'paused') return said(await press('resume'));
      await begin('run');
    };
    const moving = (id, work) => holdButton(byId(id), () => { holdMotion(true); work(); }, () => holdMotion(false));
    moving('run', start);
    moving('forward', async () => {
      if (this.state === 'paused') return said(await press('single step'));
      await begin('single step');
    });
    moving('back', async () => said(await press('step back')));
    byId('pause').onclick = () => halt('pause');
    byId('stop').onclick = () => halt('stop');
  }
  show(picture) {
    this.state = picture.state; this.job = picture.job;
    this.watchJob(picture);
    byId('run').textContent = picture.state === 'paused' ? 'Resume' : 'Start';
    byId('run').title = picture.mode === 'AUT' ? '' : 'Hold it, and the enabling switch';
    const line = picture.job === this.name && picture.line && ['running', 'stepping', 'pausing', 'paused'].includes(picture.state) ? picture.line : null;
    if (line !== this.line) { this.line = line; this.paint(); }
  }
}
