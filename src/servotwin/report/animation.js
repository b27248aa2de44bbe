// Draws a moving skeleton on a canvas: orbit by mouse, play, scrub. Needs nothing but the page it stands in.
(() => {
  'use strict';
  if (window.servotwinAnimation) return;
  const INK = '#1b2430', SOFT = '#5a6675', GRID = '#dfe4ea', ACTUAL = '#d55e00', DRIVEN = '#0072b2';
  const SLIDING = '#009e73', PASSIVE = '#8a94a0', LINK = '#c3ccd6', EDGE = '#66727f', LOAD = '#e69f00';
  const BASE = 0.14, HAND = 0.1, AXLE = 5.2;  // lengths of the triads in sizes of the picture, of half an axis in radii
  const AXES = ['#c43c39', '#2f8f4e', '#2f6fc4'];
  const VIEWS = { oblique: [-0.9, 0.42], above: [-Math.PI / 2, Math.PI / 2 - 1e-4],
    front: [-Math.PI / 2, 0.02], side: [0, 0.02] };

  function numbers(text, Kind) {
    if (!text) return null;
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new Kind(bytes.buffer);
  }
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const along = (p, d, s) => [p[0] + s * d[0], p[1] + s * d[1], p[2] + s * d[2]];
  const unit = a => { const n = Math.hypot(...a) || 1; return a.map(v => v / n); };
  const nice = v => { const e = 10 ** Math.floor(Math.log10(v)); return e * [1, 2, 5, 10].find(m => m * e >= v); };

  // Outline of a set of points on the screen (Andrew's monotone chain).
  function hull(points) {
    const p = points.slice().sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
    const half = list => {
      const out = [];
      for (const q of list) {
        while (out.length > 1 && turn(out[out.length - 2], out[out.length - 1], q) <= 0) out.pop();
        out.push(q);
      }
      out.pop();
      return out;
    };
    return [...half(p), ...half(p.reverse())];
  }

  class Arm {
    constructor(box, data) {
      this.box = box; this.data = data;
      this.canvas = box.querySelector('canvas'); this.pen = this.canvas.getContext('2d');
      this.points = numbers(data.points, Uint16Array); this.ghost = numbers(data.ghost, Uint16Array);
      this.axes = numbers(data.axes, Int8Array); this.turn = numbers(data.turn, Int8Array);
      this.tip = numbers(data.tip, Float32Array); this.wanted = numbers(data.wanted, Float32Array);
      this.foot = numbers(data.foot, Float32Array); this.q = numbers(data.q, Float32Array);
      this.carried = numbers(data.carried, Uint8Array);
      this.size = data.size; this.time = 0; this.speed = 1; this.playing = false; this.magnify = 1;
      this.shown = { ghost: false, trace: true, shadow: true };
      this.end = data.dt * (data.frames - 1);
      this.parts();
      this.look('oblique');
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
    vectors(values, count, frame, scale = 1, low = [0, 0, 0]) {
      const flat = this.blend(values, 3 * count, frame), out = [];
      for (let k = 0; k < count; k++) out.push([0, 1, 2].map(c => low[c] + scale * flat[3 * k + c]));
      return out;
    }
    places(values, frame) {
      return this.vectors(values, this.data.count, frame, this.data.step, this.data.low);
    }

    // --- camera ---------------------------------------------------------------------------------------
    look(name) {
      [this.azimuth, this.elevation] = VIEWS[name] || VIEWS.oblique;
      this.zoom = 1; this.shift = [0, 0];
      this.fit();
    }
    camera() {
      const ca = Math.cos(this.azimuth), sa = Math.sin(this.azimuth);
      const ce = Math.cos(this.elevation), se = Math.sin(this.elevation);
      this.to = [ce * ca, ce * sa, se];
      this.right = [-sa, ca, 0];
      this.up = [-se * ca, -se * sa, ce];
    }
    fit() {
      this.camera();
      this.far = 6 * this.size; this.focus = this.data.centre;
      this.scale = 1; this.offset = [0, 0];
      const box = this.canvas.getBoundingClientRect(), all = [];
      this.width = Math.max(box.width, 1); this.height = Math.max(box.height, 1);
      const every = Math.max(1, Math.floor(this.data.frames / 40));
      for (let i = 0; i < this.data.frames; i += every) {
        const frame = [i, i, 0];
        for (const p of this.drawn(frame)) all.push(this.project(p));
      }
      const low = [0, 1].map(c => Math.min(...all.map(p => p[c])));
      const high = [0, 1].map(c => Math.max(...all.map(p => p[c])));
      const room = [this.width - 60, this.height - 60], thick = this.data.arm ? 8 * this.data.radius : 0;
      const spans = [0, 1].map(c => Math.max(high[c] - low[c] + thick, 1e-3));
      this.scale = Math.min(room[0] / spans[0], room[1] / spans[1], 1.2 * this.width / this.size);
      const middle = [0, 1].map(c => 0.5 * (low[c] + high[c]) - 0.5 * [this.width, this.height][c]);
      this.offset = middle.map(v => -v * this.scale);
    }
    // Everything that is drawn at an instant, with axes and triads: a planar arm has no extent of its own across them.
    drawn(frame) {
      const tip = this.vectors(this.tip, 1, frame)[0], out = [tip];
      if (this.wanted) out.push(this.vectors(this.wanted, 1, frame)[0]);
      if (this.turn) for (const a of this.vectors(this.turn, 3, frame, 1 / 127)) out.push(along(tip, a, HAND * this.size));
      if (!this.data.arm) return out;
      const points = this.places(this.points, frame), d = this.data;
      const axes = d.joints.length ? this.vectors(this.axes, d.joints.length, frame, 1 / 127) : [];
      d.joints.forEach((joint, k) => {
        const r = AXLE * d.radius * joint.size;
        if (joint.driven) for (const s of [-r, r]) out.push(along(points[joint.point], unit(axes[k]), s));
      });
      for (const a of [[1, 0, 0], [0, 1, 0], [0, 0, 1]]) out.push(along([0, 0, 0], a, BASE * this.size));
      return [...out, ...points];
    }
    project(p) {
      const d = [0, 1, 2].map(c => p[c] - this.focus[c]);
      const depth = dot(d, this.to), s = this.scale * this.zoom * this.far / Math.max(this.far - depth, 0.05 * this.far);
      return [this.width / 2 + this.zoom * this.offset[0] + this.shift[0] + s * dot(d, this.right),
        this.height / 2 + this.zoom * this.offset[1] + this.shift[1] - s * dot(d, this.up), depth, s];
    }

    // --- drawing --------------------------------------------------------------------------------------
    draw() {
      const ratio = window.devicePixelRatio || 1, box = this.canvas.getBoundingClientRect();
      if (!box.width) return;
      if (this.width !== box.width || this.height !== box.height) this.fit();
      if (this.canvas.width !== Math.round(box.width * ratio)) this.canvas.width = Math.round(box.width * ratio);
      if (this.canvas.height !== Math.round(box.height * ratio)) this.canvas.height = Math.round(box.height * ratio);
      const pen = this.pen, frame = this.at(this.time);
      this.camera();
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, this.width, this.height);
      pen.lineJoin = pen.lineCap = 'round';
      this.floor();
      const points = this.places(this.points, frame);
      if (this.data.arm && this.shown.shadow) this.shadow(points);
      if (this.data.arm) this.triad([0, 0, 0], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], BASE * this.size, ['x', 'y', 'z']);
      if (this.shown.trace) this.trace(frame);
      if (this.data.arm) this.arm(points, frame);
      if (this.ghost && this.shown.ghost) this.outline(this.places(this.ghost, frame));
      const tip = this.vectors(this.tip, 1, frame)[0];
      if (this.wanted) this.ring(this.vectors(this.wanted, 1, frame)[0]);
      this.load(tip, frame);
      if (this.turn) this.triad(tip, this.vectors(this.turn, 3, frame, 1 / 127), HAND * this.size);
      this.dot(this.magnify === 1 ? tip : this.magnified(frame[0]), 4, ACTUAL);
      this.scalebar();
    }
    path(points, close = false) {
      this.pen.beginPath();
      points.forEach((p, i) => i ? this.pen.lineTo(p[0], p[1]) : this.pen.moveTo(p[0], p[1]));
      if (close) this.pen.closePath();
    }
    stroke(points, ink, width, dash = []) {
      this.pen.setLineDash(dash); this.pen.strokeStyle = ink; this.pen.lineWidth = width;
      this.path(points); this.pen.stroke(); this.pen.setLineDash([]);
    }
    fill(points, ink, edge, width = 1) {
      this.path(points, true); this.pen.fillStyle = ink; this.pen.fill();
      if (edge) { this.pen.strokeStyle = edge; this.pen.lineWidth = width; this.pen.stroke(); }
    }
    dot(p, radius, ink) {
      const s = this.project(p);
      this.pen.beginPath(); this.pen.arc(s[0], s[1], radius, 0, 7); this.pen.fillStyle = ink; this.pen.fill();
      this.pen.strokeStyle = '#fff'; this.pen.lineWidth = 1.2; this.pen.stroke();
    }
    ring(p) {
      const s = this.project(p);
      this.pen.beginPath(); this.pen.arc(s[0], s[1], 6.5, 0, 7);
      this.pen.strokeStyle = INK; this.pen.lineWidth = 1.3; this.pen.stroke();
    }
    write(text, x, y, ink = SOFT, align = 'left') {
      this.pen.font = '12px system-ui, sans-serif'; this.pen.fillStyle = ink; this.pen.textAlign = align;
      this.pen.fillText(text, x, y);
    }
    floor() {
      const { low, high, step, z } = this.data.floor;
      for (let c = 0; c < 2; c++) {
        for (let v = low[c]; v <= high[c] + 1e-9; v += step) {
          const ends = [low[1 - c], high[1 - c]].map(w => this.project(c ? [w, v, z] : [v, w, z]));
          this.stroke(ends, GRID, Math.abs(v) < 1e-9 ? 1.6 : 0.8);
        }
      }
    }
    shadow(points) {
      const pen = this.pen, z = this.data.floor.z;
      pen.beginPath();
      for (const [a, b] of [...this.data.bars, ...this.data.slides]) {
        [points[a], points[b]].forEach((p, i) => {
          const s = this.project([p[0], p[1], z]);
          i ? pen.lineTo(s[0], s[1]) : pen.moveTo(s[0], s[1]);
        });
      }
      pen.strokeStyle = 'rgba(27, 36, 48, 0.09)';
      pen.lineWidth = Math.max(3, 2 * this.data.radius * this.scale * this.zoom); pen.stroke();
    }
    triad(p, axes, length, names = []) {
      axes.forEach((a, c) => {
        const ends = [p, along(p, a, length)].map(v => this.project(v));
        this.stroke(ends, AXES[c], 1.8);
        if (names[c]) this.write(names[c], ends[1][0] + 4, ends[1][1] + 4, AXES[c]);
      });
    }
    magnified(i) {
      const p = [0, 1, 2].map(c => this.tip[3 * i + c]);
      if (!this.foot || this.magnify === 1) return p;
      return p.map((v, c) => this.foot[3 * i + c] + this.magnify * (v - this.foot[3 * i + c]));
    }
    trace(frame) {
      const actual = [], wanted = [];
      for (let i = 0; i < this.data.frames; i++) {
        actual.push(this.project(this.magnified(i)));
        if (this.wanted) wanted.push(this.project([0, 1, 2].map(c => this.wanted[3 * i + c])));
      }
      // Dotted below, so that it shows where the arm is elsewhere and where it has not been yet.
      if (wanted.length) this.stroke(wanted, INK, 1.3, [2, 4]);
      this.stroke(actual, 'rgba(213, 94, 0, 0.3)', 1.6);
      this.stroke(actual.slice(0, frame[0] + 1), ACTUAL, 2.4);
    }
    parts() {
      const d = this.data;
      this.bars = [...d.bars.map(([a, b]) => ({ a, b, width: d.radius, ink: LINK })),
        ...d.slides.map(([a, b]) => ({ a, b, width: 0.62 * d.radius, ink: '#e6ebf0' }))];
    }
    arm(points, frame) {
      const items = [], d = this.data, top = new Map();  // of each point: the nearest depth of what ends there
      const depth = list => list.reduce((sum, i) => sum + this.project(points[i])[2], 0) / list.length;
      const place = (list, draw, bias = 0) => {
        const near = depth(list) + bias;
        items.push([near, draw]);
        for (const i of list) {
          const key = points[i].map(v => v.toFixed(4)).join();
          top.set(key, Math.max(near, top.has(key) ? top.get(key) : -Infinity));
        }
      };
      for (const plate of d.plates) place(plate, () => this.plate(points, plate), -0.01 * this.size);
      for (const bar of this.bars) place([bar.a, bar.b], () => this.bar(points, bar));
      const hand = [points[d.tool], this.vectors(this.tip, 1, frame)[0]];  // a tool that the robot file does not know
      items.push([this.project(hand[0])[2], () => this.stroke(hand.map(p => this.project(p)), EDGE, 3)]);
      const axes = d.joints.length ? this.vectors(this.axes, d.joints.length, frame, 1 / 127) : [];
      d.joints.forEach((joint, k) => {
        const p = points[joint.point], held = top.get(p.map(v => v.toFixed(4)).join());
        const near = Math.max(depth([joint.point]), held === undefined ? -Infinity : held);
        items.push([near + 1e-6 * (k + 1) * this.size, () => this.joint(p, axes[k], joint)]);
      });
      items.sort((a, b) => a[0] - b[0]).forEach(item => item[1]());
      d.joints.forEach((joint, k) => { if (joint.driven) this.name(points[joint.point], axes[k], joint); });
    }
    plate(points, corners) {
      const shown = corners.map(i => this.project(points[i])), ring = [...shown, shown[0]];
      const width = Math.max(2, 1.1 * this.data.radius * shown[0][3]);
      this.fill(shown, 'rgba(195, 204, 214, 0.55)');
      this.stroke(ring, EDGE, width + 2);
      this.stroke(ring, LINK, width);
    }
    name(p, axis, joint) {
      const a = unit(axis), s = this.project(along(p, a, (dot(a, this.up) < -0.1 ? -1 : 1) * 3.4 * this.data.radius * joint.size));
      this.pen.font = '12px system-ui, sans-serif'; this.pen.textAlign = 'left';
      this.pen.strokeStyle = 'rgba(255, 255, 255, 0.85)'; this.pen.lineWidth = 3;
      this.pen.strokeText(joint.name, s[0] + 7, s[1] - 5);
      this.write(joint.name, s[0] + 7, s[1] - 5, joint.prismatic ? SLIDING : DRIVEN);
    }
    bar(points, bar) {
      const ends = [this.project(points[bar.a]), this.project(points[bar.b])];
      const width = Math.max(2.5, bar.width * (ends[0][3] + ends[1][3]));
      this.stroke(ends, EDGE, width + 2);
      this.stroke(ends, bar.ink, width);
    }
    joint(p, axis, joint) {
      const r = this.data.radius * joint.size, a = unit(axis);
      if (!joint.driven) {
        const s = this.project(p);
        this.pen.beginPath(); this.pen.arc(s[0], s[1], Math.max(2, 0.8 * r * s[3]), 0, 7);
        this.pen.fillStyle = '#fff'; this.pen.fill();
        this.pen.strokeStyle = PASSIVE; this.pen.lineWidth = 1.6; this.pen.stroke();
        return;
      }
      const side = unit(cross(a, Math.abs(a[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0])), other = cross(a, side);
      const count = joint.prismatic ? 4 : 28, phase = joint.prismatic ? Math.PI / 4 : 0;
      const ends = [-1, 1].map(sign => Array.from({ length: count }, (_, i) => {
        const w = phase + 2 * Math.PI * i / count, c = 1.7 * r * Math.cos(w), s = 1.7 * r * Math.sin(w);
        const base = along(p, a, sign * 2.1 * r);
        return this.project(along(along(base, side, c), other, s));
      }));
      const ink = joint.prismatic ? SLIDING : DRIVEN, front = dot(a, this.to) > 0 ? 1 : 0;
      this.stroke([-AXLE, AXLE].map(s => this.project(along(p, a, s * r))), ink, 1, [6, 3, 1, 3]);
      this.fill(hull([...ends[0], ...ends[1]]), ink, '#fff', 1);
      this.fill(ends[front], 'rgba(255, 255, 255, 0.35)', 'rgba(255, 255, 255, 0.9)', 0.8);
    }
    outline(points) {
      for (const { a, b } of this.bars) {
        this.stroke([this.project(points[a]), this.project(points[b])], INK, 1.2, [4, 3]);
      }
    }
    load(tip, frame) {
      const payload = this.data.payload;
      if (!payload || (this.carried && !this.carried[frame[0]])) return;
      const s = this.project(tip), r = Math.max(7, 2.6 * this.data.radius * s[3]);
      this.pen.beginPath(); this.pen.arc(s[0], s[1], r, 0, 7);
      this.pen.fillStyle = 'rgba(230, 159, 0, 0.35)'; this.pen.fill();
      this.pen.strokeStyle = LOAD; this.pen.lineWidth = 1.5; this.pen.stroke();
      this.write(payload, s[0] + r + 4, s[1] + r, '#8a5f00');
    }
    scalebar() {
      const length = nice(0.12 * this.width / (this.scale * this.zoom)), pixels = length * this.scale * this.zoom;
      const x = this.width - 18 - pixels, y = this.height - 16;
      this.stroke([[x, y - 4], [x, y], [x + pixels, y], [x + pixels, y - 4]], SOFT, 1.2);
      const text = length >= 1 ? `${length} m` : length >= 1e-3 ? `${+(1e3 * length).toPrecision(3)} mm`
        : `${+(1e6 * length).toPrecision(3)} µm`;
      this.write(text, x + pixels / 2, y - 7, SOFT, 'center');
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
    const play = find('play'), scrub = find('scrub'), clock = find('clock'), canvas = arm.canvas;
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
    if (magnify) magnify.addEventListener('change', () => { arm.magnify = Number(magnify.value); ask(); });
    const ghost = find('ghost');
    if (ghost) ghost.addEventListener('change', () => { arm.shown.ghost = ghost.checked; ask(); });
    box.querySelectorAll('[data-view]').forEach(button =>
      button.addEventListener('click', () => { arm.look(button.dataset.view); ask(); }));
    orbit(arm, canvas, ask);
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
      if (asked.has('magnify') && magnify) { magnify.value = asked.get('magnify'); arm.magnify = Number(magnify.value) || 1; }
      if (asked.has('t')) go(Number(asked.get('t')) - arm.data.t0 || 0);
    };
    window.addEventListener('hashchange', wish);
    if (window.ResizeObserver) new ResizeObserver(ask).observe(canvas);
    if (box.dataset.time) go(Number(box.dataset.time) - arm.data.t0);
    wish();
    show();
  }

  function orbit(arm, canvas, ask) {
    let held = null;
    canvas.addEventListener('pointerdown', event => { held = event; canvas.setPointerCapture(event.pointerId); });
    const drop = () => { held = null; };
    canvas.addEventListener('pointerup', drop);
    canvas.addEventListener('pointercancel', drop);
    canvas.addEventListener('pointermove', event => {
      if (!held) return;
      const dx = event.clientX - held.clientX, dy = event.clientY - held.clientY;
      if (event.shiftKey || event.buttons === 4) arm.shift = [arm.shift[0] + dx, arm.shift[1] + dy];
      else {
        arm.azimuth -= 0.008 * dx;
        arm.elevation = Math.min(Math.max(arm.elevation + 0.008 * dy, -Math.PI / 2), Math.PI / 2);
      }
      held = event;
      ask();
    });
    canvas.addEventListener('wheel', event => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;  // a passing reader scrolls the page
      event.preventDefault();
      const box = canvas.getBoundingClientRect(), factor = Math.exp(-0.0015 * event.deltaY);
      const at = [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2];
      arm.zoom *= factor;
      arm.shift = arm.shift.map((v, c) => at[c] + (v - at[c]) * factor);
      ask();
    }, { passive: false });
  }

  window.servotwinAnimation = box => {
    connect(new Arm(box, JSON.parse(box.querySelector('script[type="application/json"]').textContent)));
  };
})();
