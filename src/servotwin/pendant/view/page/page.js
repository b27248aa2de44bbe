// The page of the viewer: sliders move the arm at once; numbers come from the server, the latest position only.
(() => {
  'use strict';
  const { parts } = ServoTwinScene, find = id => document.getElementById(id), DEG = 180 / Math.PI, MM = 1e3;
  const SHOWN = { rad: { unit: '°', factor: DEG, step: 0.1, places: 2, wide: Math.PI }, m: { unit: 'mm', factor: MM, step: 0.1, places: 2, wide: 0.5 } };
  const page = { robot: 0, scene: null, description: null, q: [], state: null, rows: [], tool: [], number: 0 };
  window.viewer = page;

  if (location.search) history.replaceState(null, '', location.pathname);  // the token stays out of the history

  const make = (tag, text, kind) => { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; if (kind) e.className = kind; return e; };
  const shown = (v, places) => v.toFixed(places).replace(/^-(0\.?0*)$/, '$1');
  const short = v => (v === 0 || (Math.abs(v) >= 1e-3 && Math.abs(v) < 1e5) ? shown(v, Math.abs(v) >= 100 ? 1 : 3) : v.toExponential(1));

  // --- the line to the server: one question at a time, and then the latest --------------------------
  const line = { socket: null, busy: false, wanted: new Map(), calls: new Map() };
  function ask(kind, data, call) {
    line.wanted.set(kind, [data, call]);
    send();
  }
  function send() {
    if (line.busy || !line.socket || line.socket.readyState !== WebSocket.OPEN || !line.wanted.size) return;
    const [kind, [data, call]] = line.wanted.entries().next().value;
    line.wanted.delete(kind);
    const number = ++page.number;
    line.calls.set(number, [call, page.robot]);
    line.busy = true;
    line.socket.send(JSON.stringify({ ask: kind, number, robot: page.robot, ...data() }));
  }
  function connect() {
    const socket = new WebSocket(`ws://${location.host}/ws`);
    line.socket = socket;
    socket.onopen = () => { status(''); line.busy = false; send(); };
    socket.onmessage = event => {
      const answer = JSON.parse(event.data), [call, robot] = line.calls.get(answer.number) || [];
      line.calls.clear();
      line.busy = false;
      if (call && robot === page.robot) call(answer);
      send();
    };
    socket.onclose = () => { status('The command that serves this page has ended. Numbers are no longer computed.', true); setTimeout(connect, 2000); };
  }
  function status(text, lost = false) { find('status').textContent = text; find('status').classList.toggle('lost', lost); }
  function message(text, note = false) {
    const box = find('message');
    box.querySelector('span').textContent = text || '';
    box.classList.toggle('note', note);
    box.hidden = !text;
  }

  // --- rows with a slider and a number --------------------------------------------------------------
  function row(parent, name, unit, low, high, value, moved, ends) {
    const kind = SHOWN[unit], box = make('div', undefined, 'row'), label = make('label', name);
    const slider = make('input'), number = make('input'), f = kind.factor;
    label.title = name;
    slider.type = 'range'; slider.min = low * f; slider.max = high * f; slider.step = 'any';
    number.type = 'number'; number.step = kind.step;
    slider.setAttribute('aria-label', `${name}, slider`);
    number.setAttribute('aria-label', `${name} in ${kind.unit}`);
    slider.addEventListener('input', () => moved(Number(slider.value) / f));
    number.addEventListener('change', () => { const v = Number(number.value); if (number.value !== '' && isFinite(v)) moved(v / f); });
    box.append(label, slider, number, make('span', kind.unit, 'unit'));
    if (ends) {
      const range = make('div', undefined, 'range');
      range.append(make('span', ends[0]), make('span', ends[1]));
      box.append(range);
    }
    parent.append(box);
    const set = v => { slider.value = v * f; if (document.activeElement !== number) number.value = shown(v * f, kind.places); };
    set(value);
    return { box, set };
  }

  function build() {
    const d = page.description;
    find('joints').replaceChildren();
    find('tool').replaceChildren();
    page.rows = d.joints.map((joint, k) => {
      const kind = SHOWN[joint.unit], low = joint.low === null ? joint.home - kind.wide : joint.low, high = joint.high === null ? joint.home + kind.wide : joint.high;
      const text = (v, none) => (none ? 'no limit' : `${+(v * kind.factor).toPrecision(5)}`);
      return row(find('joints'), joint.name, joint.unit, low, high, page.q[k], v => { page.q[k] = v; move(); },
        [text(low, joint.low === null), text(high, joint.high === null)]);
    });
    const tip = parts.column(page.scene.toolPose(), 3), far = Math.max(1.2 * d.size, 0.1);
    const [near, wide] = d.reach || [tip.map(v => Math.min(-far, v - far)), tip.map(v => Math.max(far, v + far))];
    page.tool = ['x', 'y', 'z', 'roll', 'pitch', 'yaw'].map((name, k) => {
      const unit = k < 3 ? 'm' : 'rad', low = k < 3 ? near[k] : -Math.PI, high = k < 3 ? wide[k] : Math.PI;
      return row(find('tool'), name, unit, low, high, 0, v => place(k, v));
    });
    find('name').textContent = d.name;
    find('about').textContent = d.title || '';
    document.title = `${d.name} – ServoTwin`;
  }

  // --- motion ---------------------------------------------------------------------------------------
  function move() {
    find('unreachable').hidden = true;
    page.scene.setTargets([]);
    const drawn = page.scene.setJoints(page.q);
    if (!drawn) find('unreachable').textContent = 'The loops do not close there.';
    find('unreachable').hidden = drawn;
    page.rows.forEach((r, k) => r.set(page.q[k]));
    if (drawn) { trace(); refresh(); }
  }
  function place(k, v) {
    if (!page.state) return;
    const wish = page.wish || [...page.state.xyz, ...page.state.rpy];
    wish[k] = v;
    page.wish = wish;
    page.tool[k].set(v);
    ask('pose', () => ({ q: page.q, xyz: wish.slice(0, 3), rpy: wish.slice(3), size: page.description.size }), answer => {
      const away = answer.turned > 1e-6 ? `The tool is turned by ${shown(answer.turned * DEG, 1)}° from what was asked for: ${page.q.length} joints hold the place, and not every turn.` : '';
      find('unreachable').textContent = answer.error || away;
      find('unreachable').hidden = !find('unreachable').textContent;
      page.scene.setTargets(answer.error || away ? [{ name: 'wanted', pose: pose(wish) }] : []);
      if (answer.error) return;
      page.q = answer.state.q.slice();
      page.scene.tree.x = answer.state.x.slice();
      page.scene.setCoordinates(answer.state.x);
      page.rows.forEach((r, i) => r.set(page.q[i]));
      trace();
      take(answer);
      if (away) answer.state.rpy.forEach((v, i) => page.tool[3 + i].set(v));
      branches();
    });
  }
  function pose([x, y, z, a, b, c]) {
    const [ca, sa, cb, sb, cc, sc] = [Math.cos(a), Math.sin(a), Math.cos(b), Math.sin(b), Math.cos(c), Math.sin(c)];
    return [cc * cb, cc * sb * sa - sc * ca, cc * sb * ca + sc * sa, x, sc * cb, sc * sb * sa + cc * ca, sc * sb * ca - cc * sa, y, -sb, cb * sa, cb * ca, z];
  }
  function refresh() {
    ask('state', () => ({ q: page.q, size: page.description.size }), answer => {
      if (answer.error) { message(answer.error); return; }
      page.wish = null;
      take(answer);
    });
    branches();
  }
  let later = 0;
  function branches() {
    if (!checked('branches')) { page.scene.setGhosts([]); find('count').textContent = ''; find('why').hidden = true; return; }
    clearTimeout(later);
    page.scene.setGhosts([]);
    later = setTimeout(() => ask('branches', () => ({ q: page.q }), answer => {
      if (!checked('branches')) return;
      page.branches = answer.branches || [];
      page.scene.setGhosts(page.branches.map(b => page.scene.tree.poses(b.x).flat()));
      find('count').textContent = page.branches.length || !answer.why ? `${page.branches.length + 1}` : '';
      find('why').textContent = answer.why || '';
      find('why').hidden = !answer.why;
    }), 120);
  }
  function trace() {
    if (checked('trace')) page.scene.addTracePoint('tool', parts.column(page.scene.toolPose(), 3));
  }

  // --- numbers --------------------------------------------------------------------------------------
  function take(answer) {
    const s = page.state = answer.state, d = page.description;
    if (!page.wish) [...s.xyz, ...s.rpy].forEach((v, k) => page.tool[k].set(v));
    page.rows.forEach((r, k) => r.box.classList.toggle('beyond', s.outside.includes(d.joints[k].name)));
    find('quantities').replaceChildren(...s.quantities.map(z => {
      const kind = SHOWN[z.unit], text = v => (v === null ? '' : +(v * kind.factor).toPrecision(4));
      const box = make('div', undefined, 'quantity');
      box.classList.toggle('beyond', s.outside.includes(z.name));
      box.append(make('span', z.name), make('span', `${shown(z.value * kind.factor, 2)} ${kind.unit}  [${text(z.low)} … ${text(z.high)}]`));
      return box;
    }));
    const badge = find('singular');
    badge.textContent = s.singular ? 'singular' : s.near_singular ? 'near a singularity' : 'regular';
    badge.className = `badge ${s.singular ? 'bad' : s.near_singular ? 'near' : ''}`;
    find('conditioning').style.width = `${Math.min(100 * s.conditioning, 100)}%`;
    find('ratio').textContent = short(s.conditioning);
    find('manipulability').textContent = short(s.manipulability);
    find('values').textContent = s.singular_values.map(short).join('  ');
    ellipsoids();
    const most = Math.max(...s.gravity.map(Math.abs)), rounded = v => (Math.abs(v) < 1e-9 * most ? 0 : v);
    find('gravity').replaceChildren(...d.joints.map((joint, k) => {
      const tr = make('tr'), bar = make('div', undefined, 'bar'), fill = make('i'), cell = make('td');
      const share = s.share[k];
      tr.append(make('td', joint.name), make('td', short(rounded(s.gravity[k]))), make('td', joint.unit === 'm' ? 'N' : 'N m'));
      if (share !== null) {
        fill.style.width = `${Math.min(100 * share, 100)}%`;
        bar.classList.toggle('over', share > 1);
        bar.title = `${(100 * share).toFixed(0)} % of the limit`;
        bar.append(fill);
        cell.append(bar);
      }
      tr.append(cell);
      return tr;
    }));
    const head = make('tr'), rows = ['vx', 'vy', 'vz', 'ωx', 'ωy', 'ωz'].map((name, r) => {
      const tr = make('tr');
      tr.append(make('td', name), ...s.jacobian[r].map(v => make('td', shown(v, 3))));
      return tr;
    });
    head.append(make('th', ''), ...d.joints.map(j => make('th', j.name)));
    find('jacobian').replaceChildren(head, ...rows);
  }
  function ellipsoids() {
    const s = page.state;
    if (!s) return;
    page.scene.setEllipsoid(s.xyz, checked('velocity') ? s.velocity : null, { name: 'velocity', ink: '#e69f00' });
    page.scene.setEllipsoid(s.xyz, checked('force') ? s.force : null, { name: 'force', ink: '#009e73' });
  }

  // --- choices --------------------------------------------------------------------------------------
  const box = name => document.querySelector(`[data-show="${name}"]`), checked = name => box(name).checked;
  function apply() {
    const scene = page.scene;
    scene.setFrames(checked('frames'));
    scene.setLimits(checked('limits'));
    scene.setLabels(checked('labels'));
    ellipsoids();
    branches();
    if (!checked('trace')) scene.clearTrace('tool'); else scene.setTrace('tool', [], { ink: '#d55e00', width: 2 });
    workspace();
  }
  // The surface is asked for once; the picture then has room for it.
  function workspace() {
    const scene = page.scene, d = page.description, show = surface => {
      const p = parts.numbers(surface.positions, Float32Array), low = [1e9, 1e9, 1e9], high = [-1e9, -1e9, -1e9];
      p.forEach((v, i) => { low[i % 3] = Math.min(low[i % 3], v); high[i % 3] = Math.max(high[i % 3], v); });
      scene.setWorkspace(surface);
      scene.fit([...d.fit, ...Array.from({ length: 8 }, (_, i) => low.map((v, c) => (i >> c & 1 ? high[c] : v)))]);
    };
    if (!checked('workspace')) {
      if (scene.workspace) { scene.setWorkspace(null); scene.fit(d.fit); }
    } else if (scene.workspace) return;
    else if (page.surface) show(page.surface);
    else {
      status('Computing the workspace …');
      ask('workspace', () => ({}), answer => {
        status('');
        page.surface = answer.workspace;
        if (answer.error || !page.surface) message(answer.error || 'Hardly any position is within the limits: no workspace is drawn.');
        else if (checked('workspace')) show(page.surface);
      });
    }
  }
  document.querySelectorAll('[data-show]').forEach(input => input.addEventListener('change', apply));
  document.querySelectorAll('[data-view]').forEach(button => button.addEventListener('click', () => page.scene.view(button.dataset.view)));
  find('home').addEventListener('click', () => { page.q = page.description.joints.map(j => j.home); move(); });
  find('message').querySelector('button').addEventListener('click', () => message(''));
  find('picture').addEventListener('click', () => {
    const link = make('a');
    link.href = page.scene.snapshot();
    link.download = `${page.description.name}.png`;
    link.click();
  });

  // --- files ----------------------------------------------------------------------------------------
  const WANTED = /\.(ya?ml|urdf|stl|obj|dae|ply|glb|off)$|^package\.xml$/i, MOST = 24e6, MOST_FILES = 200;
  // Files with their paths: a list of [path, size] with its length, then the contents.
  async function drop(files) {
    message('');
    const sent = files.length > 1 ? files.filter(f => WANTED.test(f.path.split('/').pop())) : files;
    if (!sent.length) { message('No robot file is among these; expected .yaml, .yml or .urdf'); return; }
    const all = sent.reduce((sum, f) => sum + f.file.size, 0), name = sent.length === 1 ? sent[0].path : `${sent.length} files`;
    if (all > MOST) { message(`${name}: ${all} bytes; expected at most ${MOST}`); return; }
    if (sent.length > MOST_FILES) { message(`${sent.length} files; expected at most ${MOST_FILES}`); return; }
    status(`Reading ${name} …`);
    try {
      const listed = new TextEncoder().encode(JSON.stringify(sent.map(f => [f.path, f.file.size])));
      const body = new Blob([new Uint32Array([listed.length]), listed, ...sent.map(f => f.file)]);
      const response = await fetch('drop', { method: 'POST', body });
      const text = await response.text();
      const answer = response.headers.get('content-type').startsWith('application/json') ? JSON.parse(text) : { error: text };
      if (answer.error) message(answer.error); else await load(answer.robot);
      status('');
    } catch (error) { status('The files could not be sent: the command that serves this page does not answer.', true); }
  }
  // What lies in a dropped folder, with its path from there.
  async function within(entry, found) {
    if (found.length > 5 * MOST_FILES) return;
    if (entry.isFile) found.push({ path: entry.fullPath.replace(/^\//, ''), file: await new Promise((done, wrong) => entry.file(done, wrong)) });
    else {
      const reader = entry.createReader();
      for (let some = [1]; some.length;) {
        some = await new Promise((done, wrong) => reader.readEntries(done, wrong));
        for (const inner of some) await within(inner, found);
      }
    }
  }
  async function dropped(data) {
    const plain = [...data.files].map(file => ({ path: file.name, file }));
    const entries = [...data.items].map(item => (item.webkitGetAsEntry ? item.webkitGetAsEntry() : null));
    if (!entries.some(entry => entry && entry.isDirectory)) { if (plain.length) drop(plain); return; }
    const found = [];
    for (const entry of entries) if (entry) await within(entry, found);
    drop(found);
  }
  find('open').addEventListener('click', () => find('file').click());
  find('file').addEventListener('change', () => { const files = [...find('file').files].map(file => ({ path: file.name, file })); find('file').value = ''; if (files.length) drop(files); });
  addEventListener('dragover', event => { event.preventDefault(); find('drop').hidden = false; });
  addEventListener('dragleave', event => { if (!event.relatedTarget) find('drop').hidden = true; });
  addEventListener('drop', event => {
    event.preventDefault();
    find('drop').hidden = true;
    dropped(event.dataTransfer);
  });

  async function load(robot, meshes = false) {
    const description = await (await fetch(`scene?robot=${robot}${meshes ? '&meshes=1' : ''}`)).json();
    if (description.error) { message(description.error); return; }
    const camera = meshes && page.scene ? page.scene.camera : null;
    if (page.scene) page.scene.dispose();
    page.robot = robot; page.description = description; page.state = null; if (robot !== page.shown) page.surface = null; page.shown = robot; page.wish = null;
    if (!meshes) { page.q = description.q.slice(); find('unreachable').hidden = true; }
    page.scene = ServoTwinScene.create(find('scene'), description, { wheel: true, renderer: new URLSearchParams(location.hash.slice(1)).get('renderer') });
    if (camera && camera.moved) Object.assign(page.scene.camera, { azimuth: camera.azimuth, elevation: camera.elevation, focus: camera.focus, distance: camera.distance, moved: true });
    page.scene.camera.update();
    page.scene.setJoints(page.q);
    build();
    apply();
    refresh();
    const said = [...description.warnings, ...description.notes];
    if (said.length) message(said.join('\n'), true);
    document.body.dataset.ready = '1';
    if (description.meshes_to_come) await load(robot, true);
  }
  connect();
  load(0);
})();
