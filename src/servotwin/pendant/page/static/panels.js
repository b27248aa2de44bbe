// Inputs, outputs and alarms.
import { press } from './link.js';

export class Lamps {
  constructor() {
    this.ins = []; this.outs = [];
    for (let k = 1; k <= 16; k++) {
      const b = document.createElement('button'), s = document.createElement('span');
      b.append(document.createElement('i'), `IN${k}`); s.append(document.createElement('i'), `OUT${k}`);
      b.onclick = () => press('input', { name: `IN${k}`, on: !b.classList.contains('lit') });
      document.getElementById('inputs').append(b); document.getElementById('outputs').append(s);
      this.ins.push(b); this.outs.push(s);
    }
  }
  show(picture) {
    this.ins.forEach((b, k) => b.classList.toggle('lit', picture.in[k]));
    this.outs.forEach((s, k) => s.classList.toggle('lit', picture.out[k]));
  }
}

export class Alarms {
  constructor() { this.shown = ''; this.earlier = []; }
  show(picture) {
    const count = document.getElementById('alarm-count');
    const emergency = picture.state === 'emergency' ? [{ kind: 'emergency stop', text: 'The power of the arm was taken.', help: 'Press Reset, then Power on.' }] : [];
    const all = [...emergency, ...picture.alarms], text = JSON.stringify(all);
    if (text === this.shown) return;
    this.shown = text;
    count.hidden = !all.length; count.textContent = all.length;
    const fresh = all.filter(a => !this.earlier.some(e => e.text === a.text && e.kind === a.kind && !e.over));
    for (const a of fresh) this.earlier.unshift({ ...a, at: new Date().toLocaleTimeString() });
    if (!all.length) this.earlier.forEach(e => { e.over = true; });
    this.earlier.length = Math.min(this.earlier.length, 30);
    const block = a => {
      const box = document.createElement('div'), title = document.createElement('b'), what = document.createElement('p'), help = document.createElement('p');
      box.className = 'alarm'; title.textContent = a.kind + (a.line ? `, line ${a.line}` : ''); what.textContent = a.text; help.textContent = a.help; help.className = 'soft';
      box.append(title, what, help);
      return box;
    };
    const none = document.createElement('p');
    none.textContent = 'No alarms.'; none.className = 'soft';
    document.getElementById('alarms').replaceChildren(...(all.length ? all.map(block) : [none]));
    document.getElementById('history').replaceChildren(...this.earlier.map(e => { const d = document.createElement('div'); d.textContent = `${e.at}  ${e.kind}: ${e.text}`; return d; }));
  }
}
