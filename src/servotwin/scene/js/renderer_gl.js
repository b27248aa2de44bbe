// Draws solids, lines and points with WebGL2, and a soft shadow straight below them on the floor.
(() => {
  'use strict';
  const { triangles, colour } = window.ServoTwinScene.parts;
  const SHADOW = 512;  // pixels across the floor

  const SOLID = [`#version 300 es
    in vec3 p; in vec3 n; in vec3 c;
    uniform mat4 view; uniform mat4 model;
    out vec3 normal; out vec3 ink; out vec3 world;
    void main() {
      vec4 w = model * vec4(p, 1.0);
      world = w.xyz; normal = mat3(model) * n; ink = c;
      gl_Position = view * w;
    }`, `#version 300 es
    precision highp float;
    in vec3 normal; in vec3 ink; in vec3 world;
    uniform vec3 eye; uniform vec3 sun; uniform vec4 tint; uniform float alpha;
    out vec4 result;
    void main() {
      vec3 to = normalize(eye - world), n = normalize(normal);
      if (dot(n, to) < 0.0) n = -n;
      float key = max(dot(n, sun), 0.0), sky = 0.5 + 0.5 * n.z;
      vec3 base = mix(ink, tint.rgb, tint.a);
      vec3 lit = base * (0.50 + 0.22 * sky + 0.42 * key);
      float shine = pow(max(dot(n, normalize(sun + to)), 0.0), 40.0);
      float rim = pow(1.0 - max(dot(n, to), 0.0), 3.0);
      result = vec4(mix(lit + 0.12 * shine, lit * 0.72, 0.55 * rim), alpha);
    }`];
  const LINE = [`#version 300 es
    in vec4 a; in vec4 b;
    uniform mat4 view; uniform vec2 size; uniform float width; uniform float pull;
    out float run; out float side;
    void main() {
      vec4 p = view * vec4(a.xyz, 1.0), q = view * vec4(b.xyz, 1.0);
      const float near = 1e-4;
      if (p.w < near && q.w > near) p = mix(p, q, (near - p.w) / (q.w - p.w));
      if (q.w < near && p.w > near) q = mix(q, p, (near - q.w) / (p.w - q.w));
      vec2 s = p.xy / p.w * size, t = q.xy / q.w * size, d = t - s;
      d = length(d) > 1e-6 ? normalize(d) : vec2(1.0, 0.0);
      bool last = gl_VertexID >= 2;
      float up = (gl_VertexID & 1) == 0 ? 1.0 : -1.0;
      vec4 o = last ? q : p;
      vec2 shift = vec2(-d.y, d.x) * up * (width + 1.0) + d * (last ? 0.4 : -0.4) * width;
      o.xy += shift / size * o.w;
      o.z -= pull * o.w;
      run = last ? b.w : a.w; side = up * (width + 1.0);
      gl_Position = o;
    }`, `#version 300 es
    precision highp float;
    in float run; in float side;
    uniform vec4 ink; uniform float dash; uniform float width;
    out vec4 result;
    void main() {
      if (dash > 0.0 && fract(run / dash) > 0.5) discard;
      result = vec4(ink.rgb, ink.a * clamp(width + 0.5 - abs(side), 0.0, 1.0));
    }`];
  const POINT = [`#version 300 es
    in vec3 p; uniform mat4 view; uniform float size;
    void main() { gl_Position = view * vec4(p, 1.0); gl_PointSize = size; }`, `#version 300 es
    precision highp float;
    uniform vec4 ink; uniform float size; out vec4 result;
    void main() {
      float r = 2.0 * length(gl_PointCoord - 0.5);
      float cover = clamp((1.0 - r) * size * 0.5, 0.0, 1.0);
      if (cover <= 0.0) discard;
      result = vec4(ink.rgb, ink.a * cover);
    }`];
  const FLAT = [`#version 300 es
    in vec3 p; uniform mat4 model; uniform vec4 floor_box;
    void main() {
      vec3 w = (model * vec4(p, 1.0)).xyz;
      gl_Position = vec4((w.xy - floor_box.xy) / floor_box.zw, 0.0, 1.0);
    }`, `#version 300 es
    precision highp float; out vec4 result;
    void main() { result = vec4(1.0); }`];
  const BLUR = [`#version 300 es
    out vec2 at;
    void main() {
      vec2 c = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1));
      at = c; gl_Position = vec4(2.0 * c - 1.0, 0.0, 1.0);
    }`, `#version 300 es
    precision highp float;
    in vec2 at; uniform sampler2D from; uniform vec2 step; out vec4 result;
    void main() {
      float sum = 0.0, all = 0.0;
      for (int i = -8; i <= 8; i++) {
        float w = exp(-float(i * i) / 24.0);
        sum += w * texture(from, at + float(i) * step).r; all += w;
      }
      result = vec4(sum / all);
    }`];
  const FLOOR = [`#version 300 es
    uniform mat4 view; uniform vec4 floor_box; uniform float height; out vec2 at;
    void main() {
      vec2 c = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1));
      at = c;
      gl_Position = view * vec4(floor_box.xy + (2.0 * c - 1.0) * floor_box.zw, height, 1.0);
    }`, `#version 300 es
    precision highp float;
    in vec2 at; uniform sampler2D from; out vec4 result;
    void main() { result = vec4(0.10, 0.14, 0.19, 0.30 * texture(from, at).r); }`];

  class Renderer {
    constructor(canvas) {
      const gl = canvas.getContext('webgl2', { antialias: true, alpha: false, preserveDrawingBuffer: true });
      if (!gl) throw new Error('no WebGL2');
      this.gl = gl; this.canvas = canvas; this.kept = new Map();
      this.solid = this.program(SOLID); this.line = this.program(LINE); this.point = this.program(POINT);
      this.flat = this.program(FLAT); this.blur = this.program(BLUR); this.ground = this.program(FLOOR);
      this.scratch = gl.createBuffer();
      this.targets = [this.target(), this.target()];
    }
    program([vertex, fragment]) {
      const gl = this.gl, program = gl.createProgram();
      for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
        const shader = gl.createShader(kind);
        gl.shaderSource(shader, text);
        gl.compileShader(shader);
        if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader));
        gl.attachShader(program, shader);
      }
      gl.linkProgram(program);
      const found = { program, uniforms: {} };
      const count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) || 0;
      for (let i = 0; i < count; i++) {
        const name = gl.getActiveUniform(program, i).name;
        found.uniforms[name] = gl.getUniformLocation(program, name);
      }
      return found;
    }
    target() {
      const gl = this.gl, texture = gl.createTexture(), frame = gl.createFramebuffer();
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, SHADOW, SHADOW, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
      for (const name of ['TEXTURE_MIN_FILTER', 'TEXTURE_MAG_FILTER']) gl.texParameteri(gl.TEXTURE_2D, gl[name], gl.LINEAR);
      for (const name of ['TEXTURE_WRAP_S', 'TEXTURE_WRAP_T']) gl.texParameteri(gl.TEXTURE_2D, gl[name], gl.CLAMP_TO_EDGE);
      gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
      gl.bindFramebuffer(gl.FRAMEBUFFER, null);
      return { texture, frame };
    }

    // A solid: shapes in the frame of a body, kept on the card under a key.
    solidOf(key, shapes, meshes) {
      const old = this.kept.get(key);
      if (old && old.shapes === shapes) return old;
      if (old) this.forget(key);
      const gl = this.gl, data = triangles(shapes, meshes), array = gl.createVertexArray(), buffers = [];
      gl.bindVertexArray(array);
      [['p', data.positions], ['n', data.normals], ['c', data.colours]].forEach(([name, values]) => {
        const buffer = gl.createBuffer(), at = gl.getAttribLocation(this.solid.program, name);
        buffers.push(buffer);
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
        gl.enableVertexAttribArray(at);
        gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 0, 0);
      });
      const flat = gl.createVertexArray(), at = gl.getAttribLocation(this.flat.program, 'p');
      gl.bindVertexArray(flat);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers[0]);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 0, 0);
      gl.bindVertexArray(null);
      const made = { shapes, array, flat, buffers, count: data.count };
      this.kept.set(key, made);
      return made;
    }
    forget(key) {
      const old = this.kept.get(key), gl = this.gl;
      if (!old) return;
      old.buffers.forEach(buffer => gl.deleteBuffer(buffer));
      gl.deleteVertexArray(old.array);
      gl.deleteVertexArray(old.flat);
      this.kept.delete(key);
    }

    draw(picture) {
      const gl = this.gl, { camera } = picture;
      if (gl.isContextLost()) return;
      const solids = picture.solids.map(s => ({ ...s, made: this.solidOf(s.key, s.shapes, picture.meshes), matrix: matrix(s.pose) }));
      if (picture.floor) this.shadow(solids.filter(s => s.alpha === 1 && !s.unshaded), picture.floor);
      gl.bindFramebuffer(gl.FRAMEBUFFER, null);
      gl.viewport(0, 0, this.canvas.width, this.canvas.height);
      const back = colour(picture.background);
      gl.clearColor(back[0], back[1], back[2], 1);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      gl.enable(gl.BLEND);
      gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
      gl.enable(gl.DEPTH_TEST);
      gl.depthFunc(gl.LEQUAL);
      gl.depthMask(false);
      const under = picture.lines.filter(l => l.under), over = picture.lines.filter(l => !l.under);
      if (picture.floor) this.floor(picture.floor, camera);
      this.lines(under, picture);
      gl.depthMask(true);
      this.solids(solids.filter(s => s.alpha === 1), camera);
      const clear = solids.filter(s => s.alpha < 1);
      gl.enable(gl.POLYGON_OFFSET_FILL);
      gl.polygonOffset(1, 8);  // behind what is solid at the same place
      for (const group of new Set(clear.map(s => s.group))) {
        const own = clear.filter(s => s.group === group);
        gl.colorMask(false, false, false, false);
        this.solids(own, camera);
        gl.colorMask(true, true, true, true);
        this.solids(own, camera);
      }
      gl.disable(gl.POLYGON_OFFSET_FILL);
      gl.depthMask(false);
      this.lines(over, picture);
      this.points(picture.points, picture);
      gl.depthMask(true);
    }
    solids(list, camera) {
      const gl = this.gl, { program, uniforms } = this.solid;
      gl.useProgram(program);
      gl.uniformMatrix4fv(uniforms.view, false, camera.matrix);
      gl.uniform3fv(uniforms.eye, camera.eye);
      gl.uniform3fv(uniforms.sun, camera.sun);
      for (const s of list) {
        const tint = s.tint ? colour(s.tint) : [0, 0, 0];
        gl.uniformMatrix4fv(uniforms.model, false, s.matrix);
        gl.uniform4f(uniforms.tint, tint[0], tint[1], tint[2], s.tint ? s.tinted || 0.6 : 0);
        gl.uniform1f(uniforms.alpha, s.alpha);
        gl.bindVertexArray(s.made.array);
        gl.drawArrays(gl.TRIANGLES, 0, s.made.count);
      }
      gl.bindVertexArray(null);
    }
    shadow(list, floor) {
      const gl = this.gl, box = [floor.centre[0], floor.centre[1], floor.reach, floor.reach];
      gl.disable(gl.DEPTH_TEST);
      gl.disable(gl.BLEND);
      gl.viewport(0, 0, SHADOW, SHADOW);
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.targets[0].frame);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.useProgram(this.flat.program);
      gl.uniform4fv(this.flat.uniforms.floor_box, box);
      for (const s of list) {
        gl.uniformMatrix4fv(this.flat.uniforms.model, false, s.matrix);
        gl.bindVertexArray(s.made.flat);
        gl.drawArrays(gl.TRIANGLES, 0, s.made.count);
      }
      gl.bindVertexArray(null);
      gl.useProgram(this.blur.program);
      [[1, 0, 0, 1], [0, 1, 1, 0], [2, 0, 0, 1], [0, 2, 1, 0]].forEach(([x, y, from, to]) => {
        gl.bindFramebuffer(gl.FRAMEBUFFER, this.targets[to].frame);
        gl.bindTexture(gl.TEXTURE_2D, this.targets[from].texture);
        gl.uniform2f(this.blur.uniforms.step, x / SHADOW, y / SHADOW);
        gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
      });
    }
    floor(floor, camera) {
      const gl = this.gl, { program, uniforms } = this.ground;
      gl.useProgram(program);
      gl.bindTexture(gl.TEXTURE_2D, this.targets[0].texture);
      gl.uniformMatrix4fv(uniforms.view, false, camera.matrix);
      gl.uniform4fv(uniforms.floor_box, [floor.centre[0], floor.centre[1], floor.reach, floor.reach]);
      gl.uniform1f(uniforms.height, floor.z);
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    }
    lines(list, picture) {
      const gl = this.gl, { program, uniforms } = this.line, ratio = picture.ratio;
      if (!list.length) return;
      gl.useProgram(program);
      gl.uniformMatrix4fv(uniforms.view, false, picture.camera.matrix);
      gl.uniform2f(uniforms.size, this.canvas.width / 2, this.canvas.height / 2);
      gl.bindVertexArray(null);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.scratch);
      const at = ['a', 'b'].map(name => gl.getAttribLocation(program, name));
      at.forEach(i => { gl.enableVertexAttribArray(i); gl.vertexAttribDivisor(i, 1); });
      for (const line of list) {
        const data = runs(line), count = data.length / 4, step = line.pairs ? 2 : 1;
        if (count < 2) continue;
        gl.bufferData(gl.ARRAY_BUFFER, data, gl.STREAM_DRAW);
        at.forEach((i, k) => gl.vertexAttribPointer(i, 4, gl.FLOAT, false, 16 * step, 16 * k));
        const ink = colour(line.ink);
        gl.uniform4f(uniforms.ink, ink[0], ink[1], ink[2], line.alpha === undefined ? 1 : line.alpha);
        gl.uniform1f(uniforms.width, 0.5 * ratio * (line.width || 1));
        gl.uniform1f(uniforms.dash, line.dash ? line.dash / picture.camera.pixels : 0);
        gl.uniform1f(uniforms.pull, line.above ? 2e-3 : 0);
        line.through ? gl.disable(gl.DEPTH_TEST) : gl.enable(gl.DEPTH_TEST);
        gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, line.pairs ? count / 2 : count - 1);
      }
      gl.enable(gl.DEPTH_TEST);
      at.forEach(i => { gl.vertexAttribDivisor(i, 0); gl.disableVertexAttribArray(i); });
    }
    points(list, picture) {
      const gl = this.gl, { program, uniforms } = this.point;
      if (!list.length) return;
      gl.useProgram(program);
      gl.uniformMatrix4fv(uniforms.view, false, picture.camera.matrix);
      const at = gl.getAttribLocation(program, 'p');
      gl.bindVertexArray(null);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.scratch);
      gl.enableVertexAttribArray(at);
      for (const cloud of list) {
        gl.bufferData(gl.ARRAY_BUFFER, cloud.positions, gl.STREAM_DRAW);
        gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 0, 0);
        const ink = colour(cloud.ink);
        gl.uniform4f(uniforms.ink, ink[0], ink[1], ink[2], cloud.alpha === undefined ? 1 : cloud.alpha);
        gl.uniform1f(uniforms.size, picture.ratio * (cloud.size || 4));
        cloud.through ? gl.disable(gl.DEPTH_TEST) : gl.enable(gl.DEPTH_TEST);
        gl.drawArrays(gl.POINTS, 0, cloud.positions.length / 3);
      }
      gl.enable(gl.DEPTH_TEST);
      gl.disableVertexAttribArray(at);
    }
    dispose() {
      for (const key of [...this.kept.keys()]) this.forget(key);
      const lose = this.gl.getExtension('WEBGL_lose_context');
      if (lose) lose.loseContext();
    }
  }

  // Points (x, y, z) with the way from the first as a fourth number, for dashes.
  function runs(line) {
    if (line.packed && line.packed.from === line.points) return line.packed.data;
    const p = line.points, count = p.length / 3, data = new Float32Array(4 * count);
    let way = 0;
    for (let i = 0; i < count; i++) {
      if (i) way += Math.hypot(p[3 * i] - p[3 * i - 3], p[3 * i + 1] - p[3 * i - 2], p[3 * i + 2] - p[3 * i - 1]);
      data[4 * i] = p[3 * i]; data[4 * i + 1] = p[3 * i + 1]; data[4 * i + 2] = p[3 * i + 2]; data[4 * i + 3] = way;
    }
    line.packed = { from: p, data };
    return data;
  }

  function matrix(X) {
    return new Float32Array([X[0], X[4], X[8], 0, X[1], X[5], X[9], 0, X[2], X[6], X[10], 0, X[3], X[7], X[11], 1]);
  }

  window.ServoTwinScene.parts.RendererGL = Renderer;
})();
