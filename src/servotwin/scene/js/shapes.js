// Shapes of a description as triangles: positions, normals and colours, each three numbers for every corner.
(() => {
  'use strict';
  const { along, cross, less, unit, place } = window.ServoTwinScene.parts;
  const INKS = { link: '#c6ced8', driven: '#0072b2', sliding: '#009e73', passive: '#8a94a0', base: '#9aa5b1',
    guide: '#e3e8ee', tool: '#5a6675', load: '#e69f00', pallet: '#c9a26b' };

  const colours = new Map();
  function colour(ink) {
    const text = INKS[ink] || ink || INKS.link;
    if (!colours.has(text)) colours.set(text, [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16) / 255));
    return colours.get(text);
  }

  function numbers(text, Kind) {
    if (!text) return null;
    if (typeof text !== 'string') return new Kind(text);
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new Kind(bytes.buffer);
  }

  class Triangles {
    constructor() { this.positions = []; this.normals = []; this.colours = []; }
    corner(p, n, ink) {
      this.positions.push(p[0], p[1], p[2]);
      this.normals.push(n[0], n[1], n[2]);
      this.colours.push(ink[0], ink[1], ink[2]);
    }
    flat(a, b, c, ink) {
      const n = unit(cross(less(b, a), less(c, a)));
      for (const p of [a, b, c]) this.corner(p, n, ink);
    }
    // Two rings of points with their normals as a belt.
    belt(low, high, ink) {
      for (let i = 0; i < low.length; i++) {
        const j = (i + 1) % low.length;
        for (const [p, n] of [low[i], low[j], high[j], low[i], high[j], high[i]]) this.corner(p, n, ink);
      }
    }
  }

  function sides(axis) {
    const side = unit(cross(axis, Math.abs(axis[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0]));
    return [side, cross(axis, side)];
  }

  function ring(centre, axis, radius, slope, count) {
    const [u, v] = sides(axis), out = [];
    for (let i = 0; i < count; i++) {
      const w = 2 * Math.PI * i / count, d = along(u.map(x => x * Math.cos(w)), v, Math.sin(w));
      out.push([along(centre, d, radius), unit(along(d.map(x => x * Math.cos(slope)), axis, Math.sin(slope)))]);
    }
    return out;
  }

  function capsule(out, a, b, r, ink, fine) {
    const length = Math.hypot(...less(b, a)), axis = length > 1e-12 ? unit(less(b, a)) : [0, 0, 1];
    const count = fine ? 24 : 10, rows = fine ? 6 : 3, rings = [];
    for (let k = -rows; k <= rows; k++) {
      const w = k / rows * Math.PI / 2, centre = along(k < 0 ? a : b, axis, r * Math.sin(w));
      if (k === 0) rings.push(ring(a, axis, r, 0, count));
      rings.push(ring(centre, axis, r * Math.cos(w), w, count));
    }
    for (let k = 1; k < rings.length; k++) out.belt(rings[k - 1], rings[k], ink);
  }

  function cylinder(out, a, b, r, ink, fine) {
    const axis = unit(less(b, a)), count = fine ? 32 : 12;
    out.belt(ring(a, axis, r, 0, count), ring(b, axis, r, 0, count), ink);
    for (const [centre, s] of [[a, -1], [b, 1]]) {
      const edge = ring(centre, axis, r, 0, count), n = axis.map(v => s * v);
      for (let i = 0; i < count; i++) {
        for (const p of [centre, edge[i][0], edge[(i + 1) % count][0]]) out.corner(p, n, ink);
      }
    }
  }

  function box(out, pose, size, ink) {
    const h = size.map(v => v / 2), FACES = [[0, 1, 2], [1, 2, 0], [2, 0, 1]];
    for (const [c, u, v] of FACES) {
      for (const s of [-1, 1]) {
        const at = (p, q) => { const x = [0, 0, 0]; x[c] = s * h[c]; x[u] = s * p * h[u]; x[v] = q * h[v]; return place(pose, x); };
        const [a, b, d, e] = [at(-1, -1), at(1, -1), at(1, 1), at(-1, 1)];
        out.flat(a, b, d, ink);
        out.flat(a, d, e, ink);
      }
    }
  }

  function plate(out, points, r, ink, fine) {
    const n = unit(cross(less(points[1], points[0]), less(points[2], points[0])));
    for (const s of [-0.6 * r, 0.6 * r]) {
      const top = points.map(p => along(p, n, s));
      for (let i = 1; i + 1 < top.length; i++) out.flat(top[0], top[i], top[i + 1], ink);
    }
    points.forEach((p, i) => capsule(out, p, points[(i + 1) % points.length], r, ink, fine));
  }

  function sphere(out, centre, r, ink, fine) { capsule(out, centre, centre, r, ink, fine); }

  function mesh(out, shape, meshes, ink) {
    const data = meshes[shape.mesh];
    if (!data.read) {
      data.read = { p: numbers(data.positions, Float32Array), t: numbers(data.triangles, Uint32Array) };
    }
    const { p, t } = data.read, at = i => place(shape.pose, [p[3 * i], p[3 * i + 1], p[3 * i + 2]]);
    for (let i = 0; i < t.length; i += 3) out.flat(at(t[i]), at(t[i + 1]), at(t[i + 2]), ink);
  }

  function triangles(shapes, meshes, fine = true) {
    const out = new Triangles();
    for (const s of shapes) {
      const ink = colour(s.ink);
      if (s.kind === 'capsule') capsule(out, s.a, s.b, s.r, ink, fine);
      else if (s.kind === 'cylinder') cylinder(out, s.a, s.b, s.r, ink, fine);
      else if (s.kind === 'box') box(out, s.pose, s.size, ink);
      else if (s.kind === 'plate') plate(out, s.points, s.r, ink, fine);
      else if (s.kind === 'sphere') sphere(out, s.a, s.r, ink, fine);
      else if (s.kind === 'mesh') mesh(out, s, meshes, ink);
    }
    return { positions: new Float32Array(out.positions), normals: new Float32Array(out.normals),
      colours: new Float32Array(out.colours), count: out.positions.length / 3 };
  }

  Object.assign(window.ServoTwinScene.parts, { INKS, colour, numbers, triangles });
})();
