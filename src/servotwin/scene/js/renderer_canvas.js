// Draws the same picture on a 2D canvas where there is no WebGL: triangles sorted by depth, the farthest first.
(() => {
  'use strict';
  const { triangles, colour, place, unit, dot, less, cross } = window.ServoTwinScene.parts;
  const MOST = 40000;  // triangles in a picture

  class Renderer {
    constructor(canvas) {
      this.canvas = canvas; this.pen = canvas.getContext('2d'); this.kept = new Map();
      if (!this.pen) throw new Error('no canvas');
    }
    solidOf(key, shapes, meshes) {
      const old = this.kept.get(key);
      if (old && old.shapes === shapes) return old.data;
      const data = triangles(shapes, meshes, false);
      this.kept.set(key, { shapes, data });
      return data;
    }
    draw(picture) {
      const pen = this.pen, ratio = picture.ratio;
      this.project = picture.camera.project;
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.fillStyle = picture.background;
      pen.fillRect(0, 0, this.canvas.width / ratio, this.canvas.height / ratio);
      pen.lineJoin = pen.lineCap = 'round';
      picture.lines.filter(l => l.under).forEach(l => this.line(l));
      const solids = picture.solids.map(s => ({ ...s, data: this.solidOf(s.key, s.shapes, picture.meshes) }));
      if (picture.floor) this.shadow(solids, picture.floor);
      this.solids(solids, picture.camera);
      picture.lines.filter(l => !l.under).forEach(l => this.line(l));
      picture.points.forEach(c => this.cloud(c));
      pen.globalAlpha = 1;
    }
    solids(list, camera) {
      const faces = [], total = list.reduce((sum, s) => sum + s.data.count / 3, 0), every = Math.ceil(total / MOST);
      for (const s of list) {
        const { positions: p, normals: m, colours: c, count } = s.data, tint = s.tint ? colour(s.tint) : null;
        // Far sides of long bars would cover near ones, for they are sorted by their middles. Meshes may be open, or turned inside out.
        const closed = s.alpha === 1 && !s.shapes.some(shape => shape.kind === 'mesh');
        for (let i = 0; i < count; i += 3 * every) {
          const at = [0, 1, 2].map(k => place(s.pose, [p[3 * (i + k)], p[3 * (i + k) + 1], p[3 * (i + k) + 2]]));
          const n = unit(cross(less(at[1], at[0]), less(at[2], at[0])));
          const middle = [0, 1, 2].map(k => (at[0][k] + at[1][k] + at[2][k]) / 3), to = unit(less(camera.eye, middle));
          if (closed) {
            const out = [0, 1, 2].map(k => m[3 * i + k] + m[3 * i + 3 + k] + m[3 * i + 6 + k]), X = s.pose;
            const turned = [0, 1, 2].map(r => X[4 * r] * out[0] + X[4 * r + 1] * out[1] + X[4 * r + 2] * out[2]);
            if (dot(n, to) * dot(n, turned) < 0) continue;
          }
          const up = dot(n, to) < 0 ? n.map(v => -v) : n;
          const light = 0.5 + 0.11 * (1 + up[2]) + 0.42 * Math.max(dot(up, camera.sun), 0);
          const share = tint ? s.tinted || 0.6 : 0;
          const ink = [0, 1, 2].map(k => (1 - share) * c[3 * i + k] + (tint ? share * tint[k] : 0)).map(v => Math.round(255 * Math.min(v * light, 1)));
          faces.push([dot(less(middle, camera.eye), camera.to), at.map(q => this.project(q)), ink, s.alpha]);
        }
      }
      faces.sort((a, b) => a[0] - b[0]);
      const pen = this.pen;
      for (const [, q, ink, alpha] of faces) {
        pen.globalAlpha = alpha;
        pen.fillStyle = pen.strokeStyle = `rgb(${ink[0]}, ${ink[1]}, ${ink[2]})`;
        pen.lineWidth = 0.7;
        pen.beginPath();
        pen.moveTo(q[0][0], q[0][1]); pen.lineTo(q[1][0], q[1][1]); pen.lineTo(q[2][0], q[2][1]);
        pen.closePath(); pen.fill();
        if (alpha === 1) pen.stroke();
      }
      pen.globalAlpha = 1;
    }
    shadow(list, floor) {
      const pen = this.pen;
      pen.globalAlpha = 0.09;
      pen.fillStyle = '#1b2430';
      pen.beginPath();
      for (const s of list) {
        if (s.alpha < 1 || s.unshaded) continue;
        const { positions: p, count } = s.data;
        if (count > 12000) continue;
        for (let i = 0; i < count; i += 3) {
          const q = [0, 1, 2].map(k => {
            const w = place(s.pose, [p[3 * (i + k)], p[3 * (i + k) + 1], p[3 * (i + k) + 2]]);
            return this.project([w[0], w[1], floor.z]);
          });
          // One winding for all, so that overlapping ones do not cut holes.
          if ((q[1][0] - q[0][0]) * (q[2][1] - q[0][1]) - (q[1][1] - q[0][1]) * (q[2][0] - q[0][0]) < 0) q.reverse();
          pen.moveTo(q[0][0], q[0][1]); pen.lineTo(q[1][0], q[1][1]); pen.lineTo(q[2][0], q[2][1]); pen.closePath();
        }
      }
      pen.fill();
      pen.globalAlpha = 1;
    }
    line(line) {
      const pen = this.pen, p = line.points;
      pen.globalAlpha = line.alpha === undefined ? 1 : line.alpha;
      pen.strokeStyle = line.ink; pen.lineWidth = line.width || 1;
      pen.setLineDash(line.dash ? [line.dash / 2, line.dash / 2] : []);
      pen.beginPath();
      for (let i = 0; i < p.length / 3; i++) {
        const q = this.project([p[3 * i], p[3 * i + 1], p[3 * i + 2]]);
        if (i === 0 || (line.pairs && i % 2 === 0)) pen.moveTo(q[0], q[1]); else pen.lineTo(q[0], q[1]);
      }
      pen.stroke();
      pen.setLineDash([]);
      pen.globalAlpha = 1;
    }
    cloud(cloud) {
      const pen = this.pen, p = cloud.positions, r = (cloud.size || 4) / 2;
      pen.globalAlpha = cloud.alpha === undefined ? 1 : cloud.alpha;
      pen.fillStyle = cloud.ink;
      for (let i = 0; i < p.length / 3; i++) {
        const q = this.project([p[3 * i], p[3 * i + 1], p[3 * i + 2]]);
        pen.beginPath(); pen.arc(q[0], q[1], r, 0, 7); pen.fill();
      }
      pen.globalAlpha = 1;
    }
    forget(key) { this.kept.delete(key); }
    dispose() { this.kept.clear(); }
  }

  window.ServoTwinScene.parts.RendererCanvas = Renderer;
})();
