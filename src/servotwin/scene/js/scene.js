// The scene of a robot: bodies at their poses, ghosts, traces, targets, pallet, workspace, ellipsoids, labels.
//   const scene = ServoTwinScene.create(element, description, {wheel, renderer, background, touch})
(() => {
  'use strict';
  const own = window.ServoTwinScene, parts = own.parts;
  const { along, column, place, product, unit, cross, IDENTITY, Tree, Camera, handle, numbers } = parts;
  const INK = '#1b2430', SOFT = '#5a6675', GRID = '#cfd6de', GHOST = '#0072b2', AXES = ['#c43c39', '#2f8f4e', '#2f6fc4'];
  const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, sans-serif';

  const nice = v => { const e = 10 ** Math.floor(Math.log10(v)); return e * [1, 2, 5, 10].find(m => m * e >= v); };
  const split = (flat, k) => Array.from(flat.subarray ? flat.subarray(12 * k, 12 * k + 12) : flat.slice(12 * k, 12 * k + 12));

  class Scene {
    constructor(element, description, options) {
      this.element = element; this.description = description; this.options = options;
      this.meshes = description.meshes || [];
      this.tree = description.tree ? new Tree(description.tree) : null;
      this.poses = description.poses.map(pose => pose.slice());
      this.ghosts = []; this.traces = new Map(); this.targets = []; this.ellipsoids = new Map();
      this.pallet = null; this.workspace = null; this.frames = false; this.lit = null; this.labels = true; this.load = null; this.rings = [];
      this.limitArcs = false; this.fitted = description.fit || [];
      this.camera = new Camera();
      this.build();
      this.away = handle(this.canvas, this.camera, () => this.ask(), Boolean(options.wheel));
      this.canvas.addEventListener('dblclick', () => this.fit());
      if (window.ResizeObserver) {
        this.watcher = new ResizeObserver(() => this.ask());
        this.watcher.observe(element);
      }
      this.view('iso');
    }

    // --- page -----------------------------------------------------------------------------------------
    build() {
      const make = () => { const c = document.createElement('canvas'); c.style.position = 'absolute'; c.style.inset = '0';
        c.style.width = c.style.height = '100%'; c.style.display = 'block'; return c; };
      if (getComputedStyle(this.element).position === 'static') this.element.style.position = 'relative';
      this.canvas = make();
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute('role', 'img');
      this.canvas.setAttribute('aria-label', `${this.description.name}, drawn in space`);
      this.canvas.style.touchAction = this.options.touch || 'none';
      this.canvas.style.cursor = 'grab';
      this.canvas.style.outlineOffset = '-2px';
      this.paper = make();
      this.paper.style.pointerEvents = 'none';
      this.pen = this.paper.getContext('2d');
      this.element.append(this.canvas, this.paper);
      this.renderer = this.renderWith(this.options.renderer);
      this.canvas.addEventListener('webglcontextlost', event => { event.preventDefault(); this.lost(); });
    }
    renderWith(name) {
      if (name !== 'canvas') {
        try { this.kind = 'webgl'; return new parts.RendererGL(this.canvas); } catch (error) { this.without = String(error); }
      }
      this.kind = 'canvas';
      return new parts.RendererCanvas(this.canvas);
    }
    // A card that gives up: the picture goes on without it. A canvas keeps its first context, so it is replaced.
    lost() {
      if (this.disposed || this.kind === 'canvas') return;
      const fresh = this.canvas.cloneNode();
      this.away();
      this.canvas.replaceWith(fresh);
      this.canvas = fresh;
      this.away = handle(fresh, this.camera, () => this.ask(), Boolean(this.options.wheel));
      this.renderer = this.renderWith('canvas');
      this.ask();
    }
    ask() {
      if (this.asked || this.disposed) return;
      this.asked = true;
      requestAnimationFrame(() => { this.asked = false; this.draw(); });
    }
    measure() {
      const box = this.element.getBoundingClientRect(), ratio = Math.min(window.devicePixelRatio || 1, 2);
      const width = Math.max(box.width, 1), height = Math.max(box.height, 1), camera = this.camera;
      for (const c of [this.canvas, this.paper]) {
        if (c.width !== Math.round(width * ratio)) c.width = Math.round(width * ratio);
        if (c.height !== Math.round(height * ratio)) c.height = Math.round(height * ratio);
      }
      this.ratio = ratio;
      const changed = camera.width !== width || camera.height !== height;
      camera.width = width; camera.height = height;
      if (changed && !camera.moved) camera.fit(this.fitted); else if (changed) camera.update();
    }

    // --- what is shown --------------------------------------------------------------------------------
    setPoses(flat) { this.poses = this.description.bodies.map((_, k) => split(flat, k)); this.ask(); }
    // Forward kinematics here; false where the mechanism cannot be assembled.
    setJoints(q) {
      const x = this.tree ? this.tree.coordinates(Array.from(q)) : null;
      if (!x) return false;
      this.setCoordinates(x);
      return true;
    }
    setCoordinates(x) { this.poses = this.tree.poses(Array.from(x)); this.ask(); }
    posesAt(q) { const x = this.tree.coordinates(Array.from(q)); return x && this.tree.poses(x); }
    getPoses() { return this.poses.flat(); }
    toolPose() { const tool = this.description.tool; return product(this.poses[tool.body], tool.pose); }
    setGhosts(list) {
      this.ghosts = (list || []).map(flat => this.description.bodies.map((_, k) => split(flat, k)));
      this.ask();
    }
    setTrace(name, points, style) {
      const flat = new Float32Array(Array.isArray(points[0]) ? points.flat() : points);
      const old = this.traces.get(name);
      this.traces.set(name, { ...(old ? old.style : {}), ...style, points: flat, style: { ...(old ? old.style : {}), ...style } });
      this.ask();
    }
    addTracePoint(name, p) {
      const trace = this.traces.get(name) || { points: new Float32Array(0), style: {} }, most = 3 * (trace.most || 20000);
      const old = trace.points.length >= most ? trace.points.subarray(trace.points.length - most + 3) : trace.points;
      const points = new Float32Array(old.length + 3);
      points.set(old);
      points.set([p[0], p[1], p[2]], old.length);
      this.traces.set(name, { ...trace, points });
      this.ask();
    }
    clearTrace(name) { if (name === undefined) this.traces.clear(); else this.traces.delete(name); this.ask(); }
    setTargets(list) { this.targets = list || []; this.ask(); }
    // {pose, size: [x, y, z], boxes: [{pose, size, ink}]}: poses in the base.
    setPallet(pallet) {
      this.pallet = pallet ? [{ kind: 'box', pose: pallet.pose || IDENTITY, size: pallet.size, ink: 'pallet' },
        ...(pallet.boxes || []).map(b => ({ kind: 'box', ink: '#d8c3a0', ...b }))] : null;
      this.ask();
    }
    // {positions, triangles} as a mesh, {points} as dots, {lines: [[x, y, z, ...], ...]} as outlines, or null.
    setWorkspace(space) {
      this.workspace = null;
      if (space) {
        this.workspace = { points: space.points ? numbers(space.points, Float32Array) : null,
          lines: (space.lines || []).map(line => ({ points: numbers(line, Float32Array), ink: GHOST, width: 1.2, alpha: 0.6 })),
          shapes: space.positions ? [{ kind: 'mesh', mesh: 0, pose: IDENTITY, ink: GHOST }] : null, mesh: space };
      }
      this.ask();
    }
    // axes: nine numbers, the half axes in columns, by rows; style: {name, ink}.
    setEllipsoid(centre, axes, style = {}) {
      const name = style.name || 'ellipsoid';
      if (!centre || !axes) this.ellipsoids.delete(name);
      else {
        const a = Array.from(axes).flat(), X = [a[0], a[1], a[2], centre[0], a[3], a[4], a[5], centre[1], a[6], a[7], a[8], centre[2]];
        const ink = style.ink || '#e69f00', old = this.ellipsoids.get(name);
        const shapes = old && old.ink === ink ? old.shapes : [{ kind: 'sphere', a: [0, 0, 0], r: 1, ink }];
        this.ellipsoids.set(name, { X, ink, shapes });
      }
      this.ask();
    }
    setFrames(shown) { this.frames = Boolean(shown); this.ask(); }
    setLimits(shown) { this.limitArcs = Boolean(shown); this.ask(); }
    setLabels(shown) { this.labels = Boolean(shown); this.ask(); }
    // Points that are marked by a ring.
    // Where the tool's dot is drawn; null: at the tool.
    setTip(p) { this.tipAt = p || null; this.ask(); }
    setRings(list) { this.rings = list || []; this.ask(); }
    // Text on what the tool carries, or null.
    setLoad(text) { this.load = text || null; this.ask(); }
    highlight(body) { this.lit = body === undefined ? null : body; this.ask(); }
    view(name) { this.camera.view(name); this.fit(); }
    fit(points) {
      if (points) this.fitted = points;
      this.camera.moved = false;
      this.measure();
      this.camera.fit(this.fitted);
      this.ask();
    }
    snapshot() {
      this.draw();
      const whole = document.createElement('canvas');
      whole.width = this.canvas.width; whole.height = this.canvas.height;
      const pen = whole.getContext('2d');
      pen.drawImage(this.canvas, 0, 0);
      pen.drawImage(this.paper, 0, 0);
      return whole.toDataURL('image/png');
    }
    project(p) { return this.camera.project(p).slice(0, 2); }
    dispose() {
      this.disposed = true;
      this.away();
      if (this.watcher) this.watcher.disconnect();
      this.renderer.dispose();
      this.canvas.remove();
      this.paper.remove();
    }

    // --- one picture ----------------------------------------------------------------------------------
    draw() {
      this.measure();
      const d = this.description, solids = [], lines = [], points = [], meshes = this.meshes;
      this.grid(lines);
      d.bodies.forEach((body, k) => {
        const tint = this.lit === k ? { tint: '#56b4e9', tinted: 0.45 } : {};
        if (body.shapes.length) solids.push({ key: `body ${k}`, shapes: body.shapes, pose: this.poses[k], alpha: 1, ...tint });
      });
      this.rods(solids, this.poses, 'rod', 1);
      const same = (A, B) => A.every((v, i) => Math.abs(v - B[i]) < 1e-6);
      this.ghosts.forEach((poses, g) => {
        d.bodies.forEach((body, k) => {
          if (same(poses[k], this.poses[k]) || this.ghosts.slice(0, g).some(other => same(poses[k], other[k]))) return;
          if (k && body.shapes.length) solids.push({ key: `body ${k}`, shapes: body.shapes, pose: poses[k], alpha: 0.22, group: g, tint: GHOST, tinted: 0.7 });
        });
        this.rods(solids, poses, `ghost ${g} rod`, 0.22, g);
      });
      if (this.pallet) solids.push({ key: 'pallet', shapes: this.pallet, pose: IDENTITY, alpha: 1 });
      for (const [name, e] of this.ellipsoids) solids.push({ key: name, shapes: e.shapes, pose: e.X, alpha: 0.32, group: name });
      if (this.workspace) {
        if (this.workspace.points) points.push({ positions: this.workspace.points, ink: GHOST, size: 2.5, alpha: 0.35 });
        lines.push(...this.workspace.lines);
        if (this.workspace.shapes) {
          if (!this.workspace.number) { this.workspace.number = 1; meshes[1e6] = this.workspace.mesh; this.workspace.shapes[0].mesh = 1e6; }
          solids.push({ key: 'workspace', shapes: this.workspace.shapes, pose: IDENTITY, alpha: 0.16, group: 'workspace' });
        }
      }
      for (const trace of this.traces.values()) {
        if (trace.points.length > 3) lines.push(Object.assign(trace, { ink: trace.ink || trace.color || '#d55e00', width: trace.width || 2 }));
      }
      if (this.limitArcs) this.arcs(lines);
      this.triads(lines);
      const tip = this.tipAt || column(this.toolPose(), 3);
      for (const ring of this.rings) points.push({ positions: new Float32Array(ring), ink: INK, size: 13, through: true }, { positions: new Float32Array(ring), ink: '#ffffff', size: 10, through: true });
      points.push({ positions: new Float32Array(tip), ink: '#ffffff', size: 10, through: true },
        { positions: new Float32Array(tip), ink: '#d55e00', size: 7, through: true });
      this.renderer.draw({ camera: this.camera, solids, lines, points, meshes, ratio: this.ratio,
        background: this.options.background || '#ffffff', floor: { ...d.floor, reach: d.floor.reach } });
      this.words();
    }
    // What changes its length: between a point of one body and a point of another.
    rods(solids, poses, key, alpha, group) {
      (this.description.rods || []).forEach((rod, k) => {
        const a = place(poses[rod.a.body], rod.a.place), b = place(poses[rod.b.body], rod.b.place);
        const d = [b[0] - a[0], b[1] - a[1], b[2] - a[2]], length = Math.hypot(...d);
        if (length < 1e-9) return;
        const z = unit(d), x = unit(cross(z, Math.abs(z[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0])), y = cross(z, x);
        const pose = [x[0], y[0], length * z[0], a[0], x[1], y[1], length * z[1], a[1], x[2], y[2], length * z[2], a[2]];
        rod.shapes = rod.shapes || [{ kind: 'cylinder', a: [0, 0, 0], b: [0, 0, 1], r: rod.r, ink: rod.ink }];
        solids.push({ key: `rod ${k}`, shapes: rod.shapes, pose, alpha, group, ...(alpha < 1 ? { tint: GHOST, tinted: 0.7 } : {}) });
      });
    }
    grid(lines) {
      const { centre, reach, step, z } = this.description.floor;
      if (!this.gridded) {
        const fine = [], main = [];
        for (let c = 0; c < 2; c++) {
          for (let k = Math.ceil((centre[c] - reach) / step); k * step <= centre[c] + reach; k++) {
            const ends = [-reach, reach].map(w => (c ? [centre[0] + w, k * step, z] : [k * step, centre[1] + w, z]));
            (k ? fine : main).push(...ends.flat());
          }
        }
        this.gridded = [{ points: new Float32Array(fine), pairs: true, ink: GRID, width: 1, alpha: 0.55, under: true },
          { points: new Float32Array(main), pairs: true, ink: GRID, width: 1.8, alpha: 0.9, under: true }];
      }
      lines.push(...this.gridded);
    }
    triads(lines) {
      const d = this.description, size = d.size;
      const triad = (X, length, width, through) => [0, 1, 2].forEach(c => {
        const p = column(X, 3);
        lines.push({ points: new Float32Array([...p, ...along(p, unit(column(X, c)), length)]), pairs: true, ink: AXES[c], width, through });
      });
      if (d.base !== false) triad(IDENTITY, 0.14 * size, 1.8, false);
      if (d.tool.triad !== false) triad(this.toolPose(), 0.1 * size, 2.2, true);
      if (this.frames) this.poses.forEach((X, k) => { if (k) triad(X, 0.08 * size, 1.4, true); });
      this.targets.forEach(t => triad(t.pose, 0.07 * size, 1.6, true));
    }
    // Ranges of turning joints as arcs about their axes, with a hand where the joint stands.
    arcs(lines) {
      for (const joint of this.description.joints) {
        if (!joint.arc) continue;
        const { body, frame, low, high, r } = joint.arc, X = product(this.poses[body], frame), p = [];
        const turn = joint.arc.zero;
        for (let i = 0; i <= 48; i++) {
          const w = turn + low + (high - low) * i / 48;
          p.push(...place(X, [r * Math.cos(w), r * Math.sin(w), 0]));
        }
        lines.push({ points: new Float32Array(p), ink: '#0072b2', width: 1.6, alpha: 0.75, through: true });
      }
    }
    words() {
      const pen = this.pen, camera = this.camera;
      pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      pen.clearRect(0, 0, camera.width, camera.height);
      const write = (text, x, y, ink, align = 'left') => {
        pen.font = FONT; pen.textAlign = align; pen.lineWidth = 3; pen.lineJoin = 'round';
        pen.strokeStyle = 'rgba(255, 255, 255, 0.9)'; pen.strokeText(text, x, y);
        pen.fillStyle = ink; pen.fillText(text, x, y);
      };
      const d = this.description;
      if (d.base !== false) [0, 1, 2].forEach(c => {
        const p = [0, 0, 0]; p[c] = 0.15 * d.size;
        const s = camera.project(p);
        write('xyz'[c], s[0] + 3, s[1] + 4, AXES[c]);
      });
      if (this.labels) for (const joint of d.joints) {
        if (!joint.label) continue;
        const s = camera.project(place(this.poses[joint.label.body], joint.label.place));
        write(joint.name, s[0] + 8, s[1] - 6, joint.unit === 'm' ? '#00704f' : '#005a8c');
      }
      for (const t of this.targets) {
        const s = camera.project(column(t.pose, 3));
        if (t.name) write(t.name, s[0] + 7, s[1] + 14, INK);
      }
      if (this.load) {
        const s = camera.project(column(this.toolPose(), 3));
        pen.beginPath(); pen.arc(s[0], s[1], 13, 0, 7); pen.fillStyle = 'rgba(230, 159, 0, 0.3)'; pen.fill();
        pen.strokeStyle = '#e69f00'; pen.lineWidth = 1.5; pen.stroke();
        write(this.load, s[0] + 17, s[1] + 15, '#8a5f00');
      }
      this.scalebar(write);
    }
    scalebar(write) {
      const camera = this.camera, pen = this.pen, length = nice(0.1 * camera.width / camera.pixels), wide = length * camera.pixels;
      const x = camera.width - 18 - wide, y = camera.height - 14;
      pen.strokeStyle = SOFT; pen.lineWidth = 1.2;
      pen.beginPath(); pen.moveTo(x, y - 4); pen.lineTo(x, y); pen.lineTo(x + wide, y); pen.lineTo(x + wide, y - 4); pen.stroke();
      const text = length >= 1 ? `${+length.toPrecision(3)} m` : length >= 1e-3 ? `${+(1e3 * length).toPrecision(3)} mm` : `${+(1e6 * length).toPrecision(3)} µm`;
      write(text, x + wide / 2, y - 7, SOFT, 'center');
    }
  }

  own.create = (element, description, options = {}) => new Scene(element, description, options);
})();
