// The page of the pendant: puts its parts together, and shows the latest picture of the cell.
import { Editor } from './editor.js';
import { enablingSwitch, held, holdButton, holdMotion, releaseAll } from './hold.js';
import { JogPad, shown } from './jog.js';
import { chooseSignals, connect, drawn, on, press, seat } from './link.js';
import { Alarms, Lamps } from './panels.js';
import { PointList } from './points.js';
import { ScopeView } from './scope.js';

const start = JSON.parse(document.getElementById('start').textContent);
const byId = id => document.getElementById(id);
const PLANTS = { ideal: 'ideal arm', drives: 'drives simulated', bus: 'drives on the bus' };
byId('title').textContent = byId('title').title = start.title; byId('plant').textContent = PLANTS[start.plant] || start.plant;
document.title = `${start.robot} \u2013 ServoTwin pendant`;

if (location.search) history.replaceState(null, '', location.pathname); // the token stays out of the history

let quiet = 0;
const message = (text, bad = false) => {
  const line = byId('message');
  line.textContent = text; line.title = text; line.classList.toggle('bad', bad);
  clearTimeout(quiet); quiet = setTimeout(() => { line.textContent = ''; }, 9000);
};
// A picture must never hold up the renewal of what is held: WebGL that is computed by the processor would.
function renderer() {
  const gl = document.createElement('canvas').getContext('webgl2'), info = gl && gl.getExtension('WEBGL_debug_renderer_info');
  const name = info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : '';
  gl?.getExtension('WEBGL_lose_context')?.loseContext();
  return !gl || /swiftshader|llvmpipe|software/i.test(name) ? 'canvas' : 'gl';
}
const scene = ServoTwinScene.create(byId('scene'), start.scene, { wheel: true, renderer: renderer() });
scene.setLabels?.(true);
const pad = new JogPad(start, message), editor = new Editor(message, scene), points = new PointList(message, pad, scene);
const scope = new ScopeView(), lamps = new Lamps(), alarms = new Alarms();
points.onload = () => editor.again();
points.saved = () => !editor.dirty || editor.save();
enablingSwitch(byId('enabling'));

// --- tabs, views ---------------------------------------------------------------------------------------
const choose = name => {
  document.querySelectorAll('#tabs button').forEach(b => b.classList.toggle('on', b.dataset.tab === name));
  document.querySelectorAll('.tab').forEach(t => t.classList.toggle('on', t.id === `tab-${name}`));
  scope.setActive(name === 'scope');
  if (name === 'job') { editor.watched = null; editor.paint(); }
};
document.querySelectorAll('#tabs button').forEach(b => { b.onclick = () => choose(b.dataset.tab); });
document.querySelectorAll('[data-view]').forEach(b => { b.onclick = () => scene.view(b.dataset.view); });
byId('trace').onclick = () => { const b = byId('trace'), now = b.getAttribute('aria-pressed') !== 'true'; b.setAttribute('aria-pressed', now); if (!now) { scene.clearTrace('tool'); last = null; } };
choose('jog');

// --- keys ----------------------------------------------------------------------------------------------
const said = answer => { if (!answer.ok) message(answer.text, true); };
let picture = null;
document.querySelectorAll('#modes button').forEach(b => { b.onclick = async () => said(await press('mode', { mode: b.dataset.mode })); });
byId('power').onclick = async () => said(await press(picture?.powered ? 'disable' : 'enable'));
byId('reset').onclick = async () => said(await press('reset'));
byId('estop').addEventListener('pointerdown', async () => { releaseAll(); said(await press('emergency stop')); });
byId('take').onclick = async () => said(await press('take seat'));
window.addEventListener('keydown', event => { if (event.key === 'Escape' && !event.target.closest('input, textarea')) { releaseAll(); press('emergency stop').then(said); } });
for (const b of document.querySelectorAll('#menu button')) {
  const number = +b.dataset.menu, ask = async () => { said(await press('menu', { number })); };
  if (number === 0) holdButton(b, () => { holdMotion(true); ask(); }, () => holdMotion(false));
  else b.onclick = () => { ask(); if (number === 1) pad.choose('joint'); if (number === 2 && held.frame === 'joint') pad.choose('base'); if (number === 3) choose('job'); };
}
const slider = byId('override');
let sliding = 0;
slider.oninput = () => { byId('percent').value = `${slider.value} %`; sliding = performance.now(); clearTimeout(slider.timer); slider.timer = setTimeout(async () => said(await press('override', { percent: +slider.value })), 80); };

// --- the latest picture ----------------------------------------------------------------------------------
let last = null;
const KINDS = { ready: 'ready', jogging: 'moving', moving: 'moving', running: 'moving', stepping: 'moving', pausing: 'moving', stopping: 'moving', paused: 'ready', emergency: 'bad', fault: 'bad', alarm: 'bad', halting: 'bad' };
function words(p) {
  const state = byId('state');
  state.textContent = p.state; state.className = `chip ${KINDS[p.state] || ''}`; state.title = p.hint;
  document.querySelectorAll('#modes button').forEach(b => b.setAttribute('aria-checked', b.dataset.mode === p.mode));
  const byHand = [1, 2].includes(p.menu) && seat.role === 'operator', menu = byHand ? pad.menu : p.menu;
  document.querySelectorAll('#menu button').forEach(b => b.classList.toggle('on', +b.dataset.menu === menu));
  byId('power').textContent = p.powered ? 'Power off' : 'Power on';
  byId('power').classList.toggle('accent', p.state === 'disabled');
  byId('reset').classList.toggle('accent', ['emergency', 'fault', 'alarm'].includes(p.state));
  byId('enabling').classList.toggle('held', p.held);
  byId('speed').textContent = (1000 * p.speed).toFixed(0);
  const names = ['x', 'y', 'z', 'roll', 'pitch', 'yaw'], tool = byId('tool');
  tool.innerHTML = names.map((name, k) => `<b>${name}</b><span>${shown(p.tool[k], k < 3 ? 'm' : 'rad').replace(' ', '</span><small>')}</small>`).join('');
  const list = p.warnings || [];
  if (list.join() !== byId('warnings').dataset.shown) { byId('warnings').dataset.shown = list.join(); byId('warnings').replaceChildren(...list.map(t => { const d = document.createElement('div'); d.textContent = `\u26a0 ${t}`; return d; })); }
  if (performance.now() - sliding > 600 && +slider.value !== p.override) { slider.value = p.override; byId('percent').value = `${p.override} %`; }
}
function show(p) {
  picture = p;
  scene.setPoses(p.poses);
  const tip = p.tool.slice(0, 3);
  if (byId('trace').getAttribute('aria-pressed') === 'true' && (!last || Math.hypot(tip[0] - last[0], tip[1] - last[1], tip[2] - last[2]) > 0.0015)) { last = tip; scene.addTracePoint('tool', tip); }
  // the scene draws in this frame; what it drew is then on the screen
  requestAnimationFrame(() => { drawn(p.n); });
  words(p);
  pad.show(p); editor.show(p); lamps.show(p); alarms.show(p); points.look(p);
  banner();
}
scene.setTrace?.('tool', [], { ink: '#d55e00', width: 1.6, most: 3000 });
function banner() {
  const box = byId('banner');
  const text = !seat.open ? 'The connection is lost; the arm has stopped. Trying again \u2026' : seat.failure ? `The cell has ended: ${seat.failure}` : !seat.ready ? 'The arm is being prepared; drives are compiled at the first start \u2026' : '';
  box.hidden = !text; box.textContent = text;
}
on('picture', show);
let operated = false;
on('seat', s => {
  const operates = s.role === 'operator';
  byId('seat-words').textContent = operates ? `you operate${s.pages > 1 ? `, ${s.pages - 1} watch` : ''}` : s.operator ? 'you watch' : 'nobody operates';
  byId('take').hidden = operates || !s.mayOperate;
  document.body.classList.toggle('viewer', !operates);
  banner();
  if (operates === editor.watching) editor.watch(!operates);
  if (operates && s.ready && !operated) editor.begin();
  operated = operates && s.ready;
});
on('down', () => { operated = false; byId('state').textContent = 'offline'; byId('state').className = 'chip bad'; banner(); });
connect();
window.pendant = { seat, held, get picture() { return picture; } };
