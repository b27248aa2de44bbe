// The scope: up to eight signals over the last seconds, a scale for each unit, with trigger, cursors and export.
import { chooseSignals, on, seat } from './link.js';

const INKS = ['#0072b2', '#d55e00', '#009e73', '#a4508b', '#56b4e9', '#e69f00', '#6b7785', '#1b2430'];
const MOST = 8, KEPT = 24000, MAGIC = 0x504f4353, DEG = 180 / Math.PI;
const scaleOf = unit => (unit === 'rad' ? [DEG, 'deg'] : unit === 'rad/s' ? [DEG, 'deg/s'] : unit === 'm' ? [1000, 'mm'] : unit === 'm/s' ? [1000, 'mm/s'] : [1, unit]);
// Of a signal as the cell names it: motors turn in rpm, so that joints in deg/s have a scale of their own beside them.
export const scaleOfSignal = ([, unit, group] = ['', '', '']) => (group === 'motors' && unit === 'rad/s' ? [30 / Math.PI, 'rpm'] : scaleOf(unit));
const scaleAt = column => scaleOfSignal(seat.signals[column - 1]);
const byId = id => document.getElementById(id);
const LEFT = 66, RIGHT = 10; // px beside the plot; labels stand on the left

const DIVISIONS = 8; // of the picture's height, whatever the unit
// The least of ... 1, 2, 5, 10, 20 ... that is not below a value.
const roundStep = least => {
  const ten = 10 ** Math.floor(Math.log10(least) + 1e-9);
  return ten * [1, 2, 5, 10].find(k => k * ten >= least * (1 - 1e-9));
};
// The scale of a range: the value of the lowest line, and what a division is worth; both are round.
export function roundAxis(low, high) {
  const pad = Math.max(0, 1e-6 * Math.max(Math.abs(low), Math.abs(high), 1) - 0.5 * (high - low)), from = low - pad, to = high + pad;
  for (let step = roundStep((to - from) / DIVISIONS); ; step = roundStep(1.5 * step)) {
    const first = Math.floor(from / step + 1e-9), spare = DIVISIONS - (Math.ceil(to / step - 1e-9) - first);
    if (spare >= 0) return { low: (first - Math.floor(spare / 2)) * step, step };
  }
}
// A scale for each unit, over the samples [first, last) of all its signals.
export function axesOf(units, values, first, last) {
  const ranges = new Map();
  values.forEach((v, c) => {
    const range = ranges.get(units[c]) || [Infinity, -Infinity];
    for (let i = first; i < last; i++) {
      if (!(Math.abs(v[i]) < 1e30)) continue; // of drives that diverged
      if (v[i] < range[0]) range[0] = v[i];
      if (v[i] > range[1]) range[1] = v[i];
    }
    ranges.set(units[c], range);
  });
  return new Map([...ranges].map(([unit, [low, high]]) => [unit, high >= low ? roundAxis(low, high) : roundAxis(-1, 1)]));
}
// A value at a line of the plot, which is a multiple of `step`, the way to the next line.
export function lineLabel(value, step) {
  const v = Math.abs(value) < 1e-3 * step ? 0 : value, digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  if (v && (Math.abs(v) >= 1e6 || (Math.abs(v) < 1e-3 && digits > 4))) return v.toExponential(Math.max(0, Math.min(4, Math.ceil(Math.log10(Math.abs(v) / step)))));
  return v.toFixed(Math.min(digits, 7));
}

export class ScopeView {
  constructor() {
    this.chosen = []; this.time = []; this.values = []; this.frozen = false; this.cursors = null;
    this.canvas = byId('plot'); this.pen = this.canvas.getContext('2d');
    byId('add-signal').onclick = () => this.add(+byId('signal').value);
    byId('freeze').onclick = () => { this.frozen = !this.frozen; byId('freeze').textContent = this.frozen ? 'Go on' : 'Hold'; this.draw(); };
    byId('export').onclick = () => this.save();
    on('rows', data => this.take(data));
    on('seat', () => this.list());
    let from = null;
    const at = event => this.timeAt(event.offsetX);
    this.canvas.addEventListener('pointerdown', event => { from = at(event); this.cursors = [from, from]; this.canvas.setPointerCapture(event.pointerId); this.draw(); });
    this.canvas.addEventListener('pointermove', event => { if (from !== null) { this.cursors = [from, at(event)]; this.draw(); } });
    for (const name of ['pointerup', 'pointercancel', 'lostpointercapture']) this.canvas.addEventListener(name, () => { from = null; });
  }
  list() {
    if (byId('signal').options.length === seat.signals.length) return;
    const groups = new Map();
    seat.signals.forEach((signal, k) => {
      const [name, unit, group] = signal;
      if (!groups.has(group)) { const g = document.createElement('optgroup'); g.label = group; groups.set(group, g); }
      groups.get(group).append(new Option(unit ? `${name} [${scaleOfSignal(signal)[1]}]` : name, k + 1));
    });
    byId('signal').replaceChildren(...groups.values());
    if (!this.chosen.length && seat.signals.length) { this.add(1); this.add(2); }
    else this.tell();
  }
  add(column) {
    if (!column || this.chosen.includes(column) || this.chosen.length >= MOST) return;
    this.chosen.push(column);
    this.restart();
  }
  remove(column) { this.chosen = this.chosen.filter(c => c !== column); this.restart(); }
  restart() { this.time = []; this.values = this.chosen.map(() => []); this.tell(); this.draw(); }
  tell() { chooseSignals(this.active ? this.chosen : []); }
  setActive(active) { this.active = active; this.tell(); if (active) this.draw(); }
  take(buffer) {
    const head = new Uint32Array(buffer, 0, 4);
    if (head[0] !== MAGIC || head[3] !== this.chosen.length + 1 || this.frozen) return;
    const rows = new Float64Array(buffer, 16), width = head[3];
    for (let r = 0; r < head[2]; r++) {
      const t = rows[r * width];
      if (this.time.length && t <= this.time[this.time.length - 1]) continue;
      this.time.push(t);
      for (let c = 1; c < width; c++) this.values[c - 1].push(rows[r * width + c] * scaleAt(this.chosen[c - 1])[0]);
    }
    const over = this.time.length - KEPT;
    if (over > 2000) { this.time.splice(0, over); this.values.forEach(v => v.splice(0, over)); }
    if (this.active && !this.asked) { this.asked = true; requestAnimationFrame(() => { this.asked = false; this.draw(); }); }
  }
  // The window that is shown: the last seconds, or around the last crossing of the trigger.
  window() {
    const span = +byId('window').value, last = this.time.length ? this.time[this.time.length - 1] : 0, kind = byId('trigger').value;
    if (kind === 'off' || !this.values.length) return [last - span, last];
    const level = parseFloat(byId('level').value) || 0, v = this.values[0];
    for (let i = this.time.length - 1; i > 0; i--) {
      if (this.time[i] > last - 0.75 * span) continue;
      if (kind === 'rising' ? v[i - 1] < level && v[i] >= level : v[i - 1] > level && v[i] <= level) {
        this.triggered = [this.time[i] - 0.25 * span, this.time[i] + 0.75 * span];
        break;
      }
    }
    return this.triggered || [last - span, last];
  }
  timeAt(x) { const [a, b] = this.shown || [0, 1]; return a + (b - a) * (x - LEFT) / Math.max(1, this.canvas.clientWidth - LEFT - RIGHT); }
  draw() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2), w = this.canvas.clientWidth, h = this.canvas.clientHeight, pen = this.pen;
    if (!w) return;
    this.canvas.width = w * ratio; this.canvas.height = h * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, w, h);
    const [a, b] = this.shown = this.window(), left = LEFT, right = w - RIGHT, top = 10, bottom = h - 24;
    let first = this.time.findIndex(t => t >= a);
    if (first < 0) first = this.time.length;
    let last = this.time.length;
    while (last > first && this.time[last - 1] > b) last--;
    const units = this.chosen.map(column => scaleAt(column)[1]), axes = this.axes = axesOf(units, this.values, first, last);
    const x = t => left + (right - left) * (t - a) / (b - a), line = k => bottom - (bottom - top) * k / DIVISIONS;
    const y = (v, c) => { const axis = axes.get(units[c]); return line((v - axis.low) / axis.step); };
    pen.font = '11px system-ui, sans-serif'; pen.fillStyle = '#5a6675'; pen.strokeStyle = '#eceff3'; pen.lineWidth = 1;
    pen.textAlign = 'right';
    const scale = axes.get(units[0]); // the lines bear the values of the first signal's unit
    for (let k = 0; k <= DIVISIONS; k++) {
      pen.beginPath(); pen.moveTo(left, line(k)); pen.lineTo(right, line(k)); pen.stroke();
      if (scale) pen.fillText(lineLabel(scale.low + k * scale.step, scale.step), left - 5, line(k) + 4);
    }
    if (scale) pen.fillText(units[0], left - 5, h - 6);
    pen.textAlign = 'center';
    const beat = roundStep((b - a) / 5);
    for (let k = Math.ceil(a / beat); k * beat <= b; k++) {
      const xx = x(k * beat);
      pen.beginPath(); pen.moveTo(xx, top); pen.lineTo(xx, bottom); pen.stroke();
      if (xx > left + 18 && xx < right - 16) pen.fillText(`${(k * beat).toFixed(beat < 1 ? 1 : 0)} s`, xx, h - 6);
    }
    pen.save(); pen.beginPath(); pen.rect(left, top - 2, right - left, bottom - top + 4); pen.clip();
    this.values.forEach((v, c) => {
      pen.strokeStyle = INKS[c]; pen.lineWidth = 1.5; pen.beginPath();
      for (let i = first; i < last; i++) { if (i === first) pen.moveTo(x(this.time[i]), y(v[i], c)); else pen.lineTo(x(this.time[i]), y(v[i], c)); }
      pen.stroke();
    });
    if (byId('trigger').value !== 'off' && scale) { const yy = y(parseFloat(byId('level').value) || 0, 0); pen.setLineDash([4, 4]); pen.strokeStyle = INKS[0]; pen.beginPath(); pen.moveTo(left, yy); pen.lineTo(right, yy); pen.stroke(); pen.setLineDash([]); }
    pen.restore();
    this.legend(last);
    this.marks(pen, x, top, bottom);
  }
  valueAt(c, t) {
    let low = 0, high = this.time.length - 1;
    while (low < high) { const m = (low + high) >> 1; if (this.time[m] < t) low = m + 1; else high = m; }
    return this.values[c][low];
  }
  marks(pen, x, top, bottom) {
    const words = byId('cursors');
    if (!this.cursors || !this.time.length) return;
    const [t1, t2] = this.cursors;
    pen.strokeStyle = '#1b2430'; pen.setLineDash([2, 3]);
    for (const t of [t1, t2]) { pen.beginPath(); pen.moveTo(x(t), top); pen.lineTo(x(t), bottom); pen.stroke(); }
    pen.setLineDash([]);
    const parts = this.chosen.map((column, c) => { const [name] = seat.signals[column - 1], one = this.valueAt(c, t1), two = this.valueAt(c, t2); return `${name}: ${one?.toPrecision(5)} \u2192 ${two?.toPrecision(5)}, \u0394 ${(two - one)?.toPrecision(4)} ${scaleAt(column)[1]}`; });
    words.textContent = `\u0394t ${(1000 * (t2 - t1)).toFixed(1)} ms; ${parts.join('; ')}`;
  }
  legend(last) {
    byId('legend').replaceChildren(...this.chosen.map((column, c) => {
      const [name] = seat.signals[column - 1] || [''], s = document.createElement('span'), i = document.createElement('i'), small = document.createElement('small');
      i.style.background = INKS[c];
      const v = this.values[c][last - 1], kind = scaleAt(column)[1], step = this.axes.get(kind).step;
      s.append(i, `${name} ${v === undefined ? '' : v.toPrecision(5)} ${kind} `, small, ' \u2715');
      small.textContent = `${lineLabel(step, step)} ${kind}/div`.replace(' /', '/');
      s.title = 'Click to remove'; s.onclick = () => this.remove(column);
      return s;
    }));
  }
  save() {
    const head = ['time [s]', ...this.chosen.map(c => { const [name, unit] = seat.signals[c - 1]; return unit ? `${name} [${scaleAt(c)[1]}]` : name; })];
    const rows = this.time.map((t, i) => [+t.toFixed(9), ...this.values.map(v => v[i])].join(','));
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([`${head.join(',')}\n${rows.join('\n')}\n`], { type: 'text/csv' }));
    link.download = 'scope.csv';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 5000);
  }
}
