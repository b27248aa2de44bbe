// Plays a motion in a scene: play, pause, scrub, orbit by mouse. Needs nothing but the page it stands in.
(() => {
  'use strict';
  if (window.servotwinAnimation) return;
  const INK = '#1b2430', ACTUAL = '#d55e00';
  const { numbers, Tree } = ServoTwinScene.parts;

  class Motion {
    constructor(box, data) {
      this.box = box; this.data = data;
      this.x = numbers(data.x, Float32Array);
      this.tip = numbers(data.tip, Float32Array); this.wanted = numbers(data.wanted, Float32Array);
      this.foot = numbers(data.foot, Float32Array); this.q = numbers(data.q, Float32Array);
      this.carried = numbers(data.carried, Uint8Array);
      this.ghost = data.ghost && { tree: new Tree(data.ghost.tree), x: numbers(data.ghost.x, Float32Array) };
      this.time = 0; this.speed = 1; this.playing = false; this.magnify = 1; this.shown = { ghost: false };
      this.end = data.dt * (data.frames - 1);
      const options = { touch: 'pan-y', renderer: new URLSearchParams(location.hash.slice(1)).get('renderer') };
      this.scene = ServoTwinScene.create(box.querySelector('[data-part="stage"]'), data.scene, options);
      if (this.wanted) this.scene.setTrace('wanted', this.wanted, { ink: INK, width: 1.3, dash: 6 });
      this.lay();
    }

    // --- data at an instant ---------------------------------------------------------------------------
    at(time) {
      const x = this.data.dt > 0 ? Math.min(Math.max(time / this.data.dt, 0), this.data.frames - 1) : 0;
      const i = Math.min(Math.floor(x), Math.max(this.data.frames - 2, 0));
      return [i, Math.min(i + 1, this.data.frames - 1), x - i];
    }
    blend(values, width, frame) {
      const [i, j, s] = frame, out = new Array(width);
      for (let k = 0; k < width; k++) out[k] = (1 - s) * values[i * width + k] + s * values[j * width + k];
      return out;
    }
    look(name) { this.scene.view(name); }

    // --- drawing --------------------------------------------------------------------------------------
    // The way of the tool, with the deviation from the commanded path magnified.
    magnified(i) {
      const p = [0, 1, 2].map(c => this.tip[3 * i + c]);
      if (!this.foot || this.magnify === 1) return p;
      return p.map((v, c) => this.foot[3 * i + c] + this.magnify * (v - this.foot[3 * i + c]));
    }
    lay() {
      this.path = new Float32Array(3 * this.data.frames);
      for (let i = 0; i < this.data.frames; i++) this.path.set(this.magnified(i), 3 * i);
      this.scene.setTrace('actual', this.path, { ink: ACTUAL, width: 1.6, alpha: 0.35 });
    }
    draw() {
      const frame = this.at(this.time), scene = this.scene, d = this.data, tip = this.blend(this.tip, 3, frame);
      if (d.arm) scene.setCoordinates(this.blend(this.x, this.x.length / d.frames, frame));
      else scene.setPoses([...[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0], 1, 0, 0, tip[0], 0, 1, 0, tip[1], 0, 0, 1, tip[2]]);
      const ghost = this.ghost && this.shown.ghost;
      scene.setGhosts(ghost ? [this.ghost.tree.poses(this.blend(this.ghost.x, this.ghost.x.length / d.frames, frame)).flat()] : []);
      scene.setTrace('done', this.path.subarray(0, 3 * (frame[0] + 1)), { ink: ACTUAL, width: 2.6 });
      scene.setTip(this.magnify === 1 ? tip : this.magnified(frame[0]));
      scene.setRings(this.wanted ? [this.blend(this.wanted, 3, frame)] : []);
      scene.setLoad(d.payload && (!this.carried || this.carried[frame[0]]) ? d.payload : null);
    }

    // --- words beside the picture ---------------------------------------------------------------------
    readings() {
      const frame = this.at(this.time), d = this.data, out = [];
      this.blend(this.q, d.names.length, frame).forEach((v, k) => {
        const name = d.units[k] === 'mm' ? 1e3 * v : 180 / Math.PI * v;
        out.push([d.names[k], name.toFixed(2), d.units[k]]);
      });
      this.blend(this.tip, 3, frame).forEach((v, c) => out.push([`tool ${'xyz'[c]}`, (1e3 * v).toFixed(2), 'mm']));
      if (this.foot) {
        const gap = Math.hypot(...[0, 1, 2].map(c => this.tip[3 * frame[0] + c] - this.foot[3 * frame[0] + c]));
        out.push(['off the path', (1e3 * gap).toFixed(3), 'mm']);
      }
      return out;
    }
    label() {
      let found = '';
      for (const [time, text] of this.data.marks) if (time <= this.time + this.data.t0 + 1e-9) found = text;
      return found;
    }
  }

  function connect(arm) {
    const box = arm.box, find = name => box.querySelector(`[data-part="${name}"]`);
    const play = find('play'), scrub = find('scrub'), clock = find('clock'), canvas = arm.scene.canvas;
    const cells = [];
    let last = null, asked = false;
    const show = () => {
      asked = false;
      arm.draw();
      scrub.value = String(arm.end > 0 ? arm.time / arm.end : 0);
      clock.textContent = `${(arm.time + arm.data.t0).toFixed(3)} s`;
      find('label').textContent = arm.label();
      play.textContent = arm.playing ? 'Pause' : 'Play';
      arm.readings().forEach(([name, value, unit], k) => {
        if (!cells[k]) {
          const cell = document.createElement('span'), number = document.createElement('b');
          cell.append(`${name} `, number, ` ${unit}`);
          find('readings').append(cell);
          cells[k] = number;
        }
        cells[k].textContent = value.replace(/^-(0\.?0*)$/, '$1');
      });
    };
    const ask = () => { if (!asked) { asked = true; requestAnimationFrame(show); } };
    const tick = now => {
      if (!arm.playing) { last = null; return; }
      if (last !== null) arm.time += arm.speed * Math.min(now - last, 200) / 1000;
      last = now;
      if (arm.time >= arm.end) {
        if (find('loop').checked) arm.time = 0; else { arm.time = arm.end; arm.playing = false; }
      }
      show();
      requestAnimationFrame(tick);
    };
    const toggle = () => {
      arm.playing = !arm.playing && arm.end > 0;
      if (arm.playing && arm.time >= arm.end) arm.time = 0;
      if (arm.playing) requestAnimationFrame(tick);
      ask();
    };
    const go = time => { arm.time = Math.min(Math.max(time, 0), arm.end); ask(); };
    play.addEventListener('click', toggle);
    scrub.addEventListener('input', () => { arm.playing = false; go(Number(scrub.value) * arm.end); });
    find('speed').addEventListener('change', event => { arm.speed = Number(event.target.value); });
    const magnify = find('magnify');
    if (magnify) magnify.addEventListener('change', () => { arm.magnify = Number(magnify.value); arm.lay(); ask(); });
    const ghost = find('ghost');
    if (ghost) ghost.addEventListener('change', () => { arm.shown.ghost = ghost.checked; ask(); });
    box.querySelectorAll('[data-view]').forEach(button =>
      button.addEventListener('click', () => { arm.look(button.dataset.view); ask(); }));
    canvas.addEventListener('keydown', event => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === ' ') toggle();
      else if (step) { arm.playing = false; go(arm.time + step * (event.shiftKey ? 10 : 1) * arm.data.dt); }
      else return;
      event.preventDefault();
    });
    // A link such as report.html#t=0.8&view=above shows that instant from there.
    const wish = () => {
      const asked = new URLSearchParams(location.hash.slice(1));
      if (asked.has('view')) arm.look(asked.get('view'));
      if (asked.has('ghost') && ghost) arm.shown.ghost = ghost.checked = true;
      if (asked.has('magnify') && magnify) { magnify.value = asked.get('magnify'); arm.magnify = Number(magnify.value) || 1; arm.lay(); }
      if (asked.has('t')) go(Number(asked.get('t')) - arm.data.t0 || 0);
    };
    window.addEventListener('hashchange', wish);
    if (box.dataset.time) go(Number(box.dataset.time) - arm.data.t0);
    wish();
    show();
  }

  window.servotwinAnimation = box => {
    const motion = new Motion(box, JSON.parse(box.querySelector('script[type="application/json"]').textContent));
    box.servotwinMotion = motion;
    connect(motion);
  };
})();
