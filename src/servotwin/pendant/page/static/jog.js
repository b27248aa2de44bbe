// The jog pad: a row for each joint or axis, held or in steps.
import { held, holdButton, holdMotion, say } from './hold.js';
import { press } from './link.js';

const CARTESIAN = [['x', 'm'], ['y', 'm'], ['z', 'm'], ['rx', 'rad'], ['ry', 'rad'], ['rz', 'rad']];
const UNIT = { rad: ['deg', 180 / Math.PI], m: ['mm', 1000] };
const shown = (value, unit) => { const [name, by] = UNIT[unit]; return `${(value * by).toFixed(unit === 'm' ? 2 : 3)} ${name}`; };
export { shown, UNIT };

export class JogPad {
  constructor(start, message) {
    this.joints = start.scene.joints; this.message = message; this.step = 0; this.rows = [];
    this.axes = document.getElementById('axes');
    for (const button of document.querySelectorAll('#frames button')) {
      button.onclick = () => {
        this.choose(button.dataset.frame);
        if (this.last && this.last.mode !== 'AUT' && this.last.menu !== this.menu) press('menu', { number: this.menu });
      };
    }
    for (const button of document.querySelectorAll('#steps button')) {
      button.onclick = () => { this.step = +button.dataset.step; this.mark(); };
    }
    const speed = document.getElementById('jog-speed');
    speed.oninput = () => { held.speed = speed.value / 100; document.getElementById('jog-percent').value = `${speed.value} %`; };
    const user = document.getElementById('user-frame');
    user.onchange = () => { held.user = user.value; };
    this.setFrames([]);
    this.choose('joint');
  }
  get menu() { return held.frame === 'joint' ? 1 : 2; } // of the control menu: Joint, Cartesian
  setFrames(names) {
    const user = document.getElementById('user-frame'), before = user.value;
    const all = names.length ? names : ['base'];
    user.replaceChildren(...all.map(name => new Option(name, name)));
    if (all.includes(before)) user.value = before;
    held.user = user.value;
  }
  mark() {
    document.querySelectorAll('#frames button').forEach(b => b.classList.toggle('on', b.dataset.frame === held.frame));
    document.querySelectorAll('#steps button').forEach(b => b.classList.toggle('on', +b.dataset.step === this.step));
    document.getElementById('user-frame').hidden = held.frame !== 'user';
  }
  choose(frame) {
    held.frame = frame; held.direction = [];
    const rows = frame === 'joint' ? this.joints.map(j => [j.name, j.unit]) : CARTESIAN;
    this.rows = rows.map(([name, unit], k) => this.row(name, unit, k, rows.length));
    this.axes.replaceChildren(...this.rows.map(r => r.element));
    this.mark();
    if (this.last) this.show(this.last);
  }
  row(name, unit, k, count) {
    const element = document.createElement('div'), middle = document.createElement('div');
    element.className = 'axis'; middle.className = 'middle';
    const label = document.createElement('b'), value = document.createElement('span'), bar = document.createElement('div'), dot = document.createElement('i');
    label.textContent = name; bar.className = 'bar'; bar.append(dot);
    middle.append(label, value, bar);
    const button = sign => {
      const b = document.createElement('button');
      b.textContent = sign > 0 ? '+' : '\u2212';
      b.setAttribute('aria-label', `${name} ${sign > 0 ? 'plus' : 'minus'}`);
      let jogs = false;
      holdButton(b, () => {
        const direction = new Array(count).fill(0);
        direction[k] = sign;
        if (this.step) { this.nudge(direction, unit); return; }
        held.direction = direction; jogs = true; holdMotion(true);
      }, () => { if (jogs) { jogs = false; held.direction = []; holdMotion(false); } });
      return b;
    };
    element.append(button(-1), middle, button(1));
    return { element, value, bar, dot, unit, k };
  }
  async nudge(direction, unit) {
    const answer = await press('step', { frame: held.frame, direction, length: this.step / UNIT[unit][1], speed: held.speed, user: held.user });
    if (!answer.ok) this.message(answer.text, true);
  }
  show(picture) {
    this.last = picture;
    const joint = held.frame === 'joint';
    for (const row of this.rows) {
      const value = joint ? picture.q[row.k] : picture.tool[row.k];
      row.value.textContent = shown(value, row.unit);
      const j = joint ? this.joints[row.k] : null, open = !j || j.low === null || j.high === null;
      row.bar.style.visibility = open ? 'hidden' : 'visible';
      if (open) continue;
      const share = (value - j.low) / (j.high - j.low);
      row.dot.style.left = `${100 * Math.min(1, Math.max(0, share))}%`;
      row.bar.classList.toggle('near', share < 0.02 || share > 0.98);
    }
    document.getElementById('jog-why').textContent = picture.why || '';
  }
}
