// Positions and turns of the bodies of a tree from its joints, loops closed by Newton's method. Poses are 12 numbers,
// 3 x 4 by rows.
(() => {
  'use strict';
  const own = window.ServoTwinScene = window.ServoTwinScene || {};

  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const along = (p, d, s) => [p[0] + s * d[0], p[1] + s * d[1], p[2] + s * d[2]];
  const less = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
  const unit = a => { const n = Math.hypot(a[0], a[1], a[2]) || 1; return [a[0] / n, a[1] / n, a[2] / n]; };
  const column = (X, c) => [X[c], X[4 + c], X[8 + c]];
  const place = (X, p) => [
    X[0] * p[0] + X[1] * p[1] + X[2] * p[2] + X[3],
    X[4] * p[0] + X[5] * p[1] + X[6] * p[2] + X[7],
    X[8] * p[0] + X[9] * p[1] + X[10] * p[2] + X[11]];
  const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0];

  function product(A, B) {
    const out = new Array(12);
    for (let r = 0; r < 12; r += 4) {
      for (let c = 0; c < 4; c++) {
        out[r + c] = A[r] * B[c] + A[r + 1] * B[4 + c] + A[r + 2] * B[8 + c] + (c === 3 ? A[r + 3] : 0);
      }
    }
    return out;
  }

  // X Rz(v) or X Tz(v).
  function moved(X, prismatic, v) {
    const out = X.slice();
    if (prismatic) {
      for (let r = 0; r < 12; r += 4) out[r + 3] += X[r + 2] * v;
      return out;
    }
    const c = Math.cos(v), s = Math.sin(v);
    for (let r = 0; r < 12; r += 4) {
      out[r] = c * X[r] + s * X[r + 1];
      out[r + 1] = c * X[r + 1] - s * X[r];
    }
    return out;
  }

  // x are all free coordinates: the joints q, then the passive ones of closed chains; q_tree = G x + q0.
  class Tree {
    constructor(tree) {
      this.tree = tree;
      this.n = tree.actuated;
      this.x = tree.x.slice();
    }

    poses(x) {
      const { parent, prismatic, X, G, q0 } = this.tree, out = [IDENTITY.slice()];
      for (let i = 0; i < parent.length; i++) {
        let v = q0[i];
        for (let k = 0; k < x.length; k++) v += G[i][k] * x[k];
        out.push(moved(product(out[parent[i] + 1], X[i]), prismatic[i], v));
      }
      return out;
    }

    // All coordinates at q, on the branch where the last ones were; null where the loops do not close.
    coordinates(q) {
      const n = this.n;
      if (!this.tree.loops.length) return q.slice();
      const from = this.x.slice(0, n), far = Math.max(...q.map((v, k) => Math.abs(v - from[k])), 0);
      const steps = Math.min(Math.max(Math.ceil(far / 0.1), 1), 64);
      let x = this.x.slice();
      for (let s = 1; s <= steps; s++) {
        for (let k = 0; k < n; k++) x[k] = from[k] + (q[k] - from[k]) * s / steps;
        x = this.closed(x);
        if (!x) return null;
      }
      this.x = x;
      return x;
    }

    closed(x) {
      const n = this.n, count = x.length - n, step = 1e-7;
      x = x.slice();
      for (let round = 0; round < 40; round++) {
        const gap = this.gaps(x), size = Math.hypot(...gap);
        if (size < 1e-12) return x;
        const columns = [];
        for (let k = 0; k < count; k++) {
          const y = x.slice();
          y[n + k] += step;
          const up = this.gaps(y);
          y[n + k] -= 2 * step;
          const down = this.gaps(y);
          columns.push(up.map((v, i) => (v - down[i]) / (2 * step)));
        }
        const change = leastSquares(columns, gap), last = x.slice();
        let share = 1, good = false;
        for (let t = 0; t < 12 && !good; t++, share /= 2) {
          for (let k = 0; k < count; k++) x[n + k] = last[n + k] - share * change[k];
          good = Math.hypot(...this.gaps(x)) < size;
        }
        if (!good) return size < 1e-9 ? last : null;
      }
      return Math.hypot(...this.gaps(x)) < 1e-9 ? x : null;
    }

    // What keeps the two sides of every cut joint apart.
    gaps(x) {
      const poses = this.poses(x), out = [];
      for (const loop of this.tree.loops) {
        const A = product(poses[loop.a.body + 1], loop.a.pose), B = product(poses[loop.b.body + 1], loop.b.pose);
        const d = less(column(B, 3), column(A, 3));
        if (loop.kind !== 'prismatic') out.push(...d);
        else out.push(dot(d, column(A, 0)), dot(d, column(A, 1)));
        if (loop.kind === 'revolute') out.push(dot(column(A, 0), column(B, 2)), dot(column(A, 1), column(B, 2)));
        if (loop.kind === 'prismatic') {
          out.push(dot(column(A, 0), column(B, 2)), dot(column(A, 1), column(B, 2)), dot(column(A, 0), column(B, 1)));
        }
      }
      return out;
    }
  }

  // The change that closes gaps in the sense of least squares, a little damped: redundant equations are allowed.
  function leastSquares(columns, gap) {
    const n = columns.length, inner = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);
    const A = columns.map(a => columns.map(b => inner(a, b))), y = columns.map(a => inner(a, gap));
    const trace = A.reduce((sum, row, i) => sum + row[i], 0) || 1;
    for (let i = 0; i < n; i++) A[i][i] += 1e-14 * trace;
    for (let i = 0; i < n; i++) {
      let best = i;
      for (let r = i + 1; r < n; r++) if (Math.abs(A[r][i]) > Math.abs(A[best][i])) best = r;
      [A[i], A[best]] = [A[best], A[i]];
      [y[i], y[best]] = [y[best], y[i]];
      for (let r = i + 1; r < n; r++) {
        const f = A[r][i] / A[i][i];
        for (let c = i; c < n; c++) A[r][c] -= f * A[i][c];
        y[r] -= f * y[i];
      }
    }
    for (let i = n - 1; i >= 0; i--) {
      for (let c = i + 1; c < n; c++) y[i] -= A[i][c] * y[c];
      y[i] /= A[i][i];
    }
    return y;
  }

  own.parts = { dot, cross, along, less, unit, column, place, product, moved, IDENTITY, Tree };
})();
