// A camera that looks at a focus from a direction: orbit, pan, zoom by mouse and fingers, standard views, fit.
(() => {
  'use strict';
  const { dot, less, along } = window.ServoTwinScene.parts;
  const FIELD = 0.46;  // rad, upright
  const VIEWS = { iso: [-0.9, 0.42], oblique: [-0.9, 0.42], top: [-Math.PI / 2, Math.PI / 2 - 1e-4],
    above: [-Math.PI / 2, Math.PI / 2 - 1e-4], front: [-Math.PI / 2, 0.02], side: [0, 0.02] };

  class Camera {
    constructor() {
      [this.azimuth, this.elevation] = VIEWS.iso;
      this.focus = [0, 0, 0]; this.distance = 3; this.width = 1; this.height = 1;
      this.update();
    }
    view(name) { [this.azimuth, this.elevation] = VIEWS[name] || VIEWS.iso; this.moved = false; this.update(); }
    update() {
      const ca = Math.cos(this.azimuth), sa = Math.sin(this.azimuth);
      const ce = Math.cos(this.elevation), se = Math.sin(this.elevation);
      this.to = [ce * ca, ce * sa, se]; this.right = [-sa, ca, 0]; this.up = [-se * ca, -se * sa, ce];
      this.eye = along(this.focus, this.to, this.distance);
      this.zoomed = this.height / 2 / Math.tan(FIELD / 2);  // pixels of a unit at unit distance
      this.pixels = this.zoomed / this.distance;  // of a metre at the focus
      this.sun = [0, 1, 2].map(c => 0.45 * this.to[c] + 0.35 * this.up[c] - 0.3 * this.right[c] + (c === 2 ? 0.5 : 0));
      const n = Math.hypot(...this.sun);
      this.sun = this.sun.map(v => v / n);
      this.matrix = this.projection();
      this.project = p => {
        const d = less(p, this.eye), depth = Math.max(-dot(d, this.to), 1e-3 * this.distance), s = this.zoomed / depth;
        return [this.width / 2 + s * dot(d, this.right), this.height / 2 - s * dot(d, this.up), depth, s];
      };
    }
    projection() {
      const near = 0.02 * this.distance, far = 40 * this.distance, f = 1 / Math.tan(FIELD / 2);
      const rows = [this.right, this.up, this.to], e = this.eye, m = new Float32Array(16);
      const scale = [f * this.height / this.width, f];
      for (let c = 0; c < 3; c++) {
        m[4 * c] = scale[0] * rows[0][c];
        m[4 * c + 1] = scale[1] * rows[1][c];
        m[4 * c + 2] = (near + far) / (near - far) * rows[2][c];
        m[4 * c + 3] = -rows[2][c];
      }
      const t = rows.map(r => -dot(r, e));
      m[12] = scale[0] * t[0]; m[13] = scale[1] * t[1];
      m[14] = (near + far) / (near - far) * t[2] + 2 * near * far / (near - far);
      m[15] = -t[2];
      return m;
    }
    // Focus and distance that hold all points in the picture, with a margin [px].
    fit(points, margin = 34) {
      if (!points.length) return;
      const low = [0, 1, 2].map(c => Math.min(...points.map(p => p[c]))), high = [0, 1, 2].map(c => Math.max(...points.map(p => p[c])));
      this.focus = low.map((v, c) => (v + high[c]) / 2);
      this.distance = Math.max(4 * Math.hypot(...less(high, low)), 1e-3);
      const room = [Math.max(this.width - 2 * margin, 20), Math.max(this.height - 2 * margin, 20)];
      for (let round = 0; round < 12; round++) {
        this.update();
        const at = points.map(p => this.project(p));
        const a = [0, 1].map(c => Math.min(...at.map(p => p[c]))), b = [0, 1].map(c => Math.max(...at.map(p => p[c])));
        const dx = ((a[0] + b[0]) / 2 - this.width / 2) / this.pixels, dy = (this.height / 2 - (a[1] + b[1]) / 2) / this.pixels;
        this.focus = along(along(this.focus, this.right, dx), this.up, dy);
        this.distance *= Math.max((b[0] - a[0]) / room[0], (b[1] - a[1]) / room[1], 1e-3) ** 0.9;
      }
      this.update();
    }
    orbit(dx, dy) {
      this.moved = true;  // by hand: no later fit undoes it
      this.azimuth -= 0.008 * dx;
      this.elevation = Math.min(Math.max(this.elevation + 0.008 * dy, -Math.PI / 2 + 1e-4), Math.PI / 2 - 1e-4);
      this.update();
    }
    pan(dx, dy) {
      this.moved = true;
      this.focus = along(along(this.focus, this.right, -dx / this.pixels), this.up, dy / this.pixels);
      this.update();
    }
    zoom(factor, x, y) {
      this.moved = true;
      const at = [x - this.width / 2, y - this.height / 2], before = 1 / this.pixels;
      this.distance = Math.min(Math.max(this.distance / factor, 1e-4), 1e5);
      this.update();
      const gain = before - 1 / this.pixels;
      this.focus = along(along(this.focus, this.right, at[0] * gain), this.up, -at[1] * gain);
      this.update();
    }
  }

  // Mouse, pen and fingers on an element; 'ask' draws again. The wheel zooms only where the reader has clicked before.
  function handle(element, camera, ask, wheelAlways) {
    const held = new Map(), away = [], listen = (name, call, options) => {
      element.addEventListener(name, call, options);
      away.push(() => element.removeEventListener(name, call, options));
    };
    const at = event => { const box = element.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    listen('pointerdown', event => {
      held.set(event.pointerId, at(event));
      try { element.setPointerCapture(event.pointerId); } catch { /* a pointer that is gone */ }
    });
    const drop = event => held.delete(event.pointerId);
    listen('pointerup', drop);
    listen('pointercancel', drop);
    listen('contextmenu', event => event.preventDefault());
    listen('pointermove', event => {
      const last = held.get(event.pointerId);
      if (!last) return;
      const now = at(event), dx = now[0] - last[0], dy = now[1] - last[1];
      if (held.size === 2) {
        const other = [...held].find(([id]) => id !== event.pointerId)[1];
        const far = Math.hypot(now[0] - other[0], now[1] - other[1]), was = Math.hypot(last[0] - other[0], last[1] - other[1]);
        camera.pan(dx / 2, dy / 2);
        if (was > 1) camera.zoom(far / was, (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      } else if (event.shiftKey || event.buttons === 4 || event.buttons === 2) camera.pan(dx, dy);
      else camera.orbit(dx, dy);
      held.set(event.pointerId, now);
      ask();
    });
    listen('wheel', event => {
      if (!wheelAlways && document.activeElement !== element && !event.ctrlKey) return;
      event.preventDefault();
      camera.zoom(Math.exp(-0.0015 * event.deltaY), ...at(event));
      ask();
    }, { passive: false });
    return () => away.forEach(call => call());
  }

  Object.assign(window.ServoTwinScene.parts, { Camera, handle, VIEWS });
})();
