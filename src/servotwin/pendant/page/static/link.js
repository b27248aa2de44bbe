// The socket: what is held goes out at once and again every 20 ms; the latest picture comes in. Nothing waits in a queue.
import { held, releaseAll, onChange } from './hold.js';

const RENEW = 20; // ms
const listeners = { picture: [], seat: [], rows: [], down: [] };
export const seat = { role: 'viewer', token: '', ready: false, signals: [], failure: '', open: false };
export const on = (what, f) => listeners[what].push(f);
const tell = (what, value) => listeners[what].forEach(f => f(value));
let socket = null, sequence = 0, number = 0, seen = 0, told = 0, pauseUntil = 0;
const waiting = new Map();

const send = data => {
  if (!socket || socket.readyState !== WebSocket.OPEN || socket.bufferedAmount > 20000) return false;
  socket.send(JSON.stringify(data));
  return true;
};
const renew = () => {
  if (seat.role !== 'operator' || document.hidden) return;
  told = seen;
  send({ switch: held.switch, hold: held.hold, frame: held.frame, direction: held.direction, speed: held.speed,
    user: held.user, sequence: ++sequence, ms: performance.now(), token: seat.token, seen });
};
setInterval(() => { if (performance.now() >= pauseUntil) renew(); }, RENEW);
onChange(renew);

// A key that is pressed once; {ok, text}.
export const press = (key, words = {}) => new Promise(done => {
  const id = ++number;
  waiting.set(id, done);
  if (!send({ key, with: words, number: id, token: seat.token })) { waiting.delete(id); done({ ok: false, text: 'no connection to the cell' }); }
});
export const chooseSignals = columns => send({ key: 'scope', columns, number: ++number });
// Said when a picture is on the screen, so that the next one comes.
export const drawn = n => { seen = n; if (seat.role !== 'operator' && n !== told) { told = n; send({ seen }); } };

export async function desk(what, words = {}) {
  try {
    const answer = await fetch('desk', { method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ do: what, token: seat.token, ...words }) });
    return await answer.json();
  } catch { return { ok: false, text: 'no connection to the server' }; }
}

function receive(event) {
  if (typeof event.data !== 'string') { tell('rows', event.data); return; }
  const data = JSON.parse(event.data);
  if ('n' in data) tell('picture', data);
  else if ('answer' in data) { const done = waiting.get(data.answer); waiting.delete(data.answer); if (done) done(data); }
  else if ('seat' in data) {
    if (seat.role !== data.seat) releaseAll();
    Object.assign(seat, { role: data.seat, token: data.token, ready: data.ready, signals: data.signals, failure: data.failure,
      mayOperate: data.may_operate, operator: data.operator, name: data.name, pages: data.pages });
    tell('seat', seat);
  }
}
function lost() {
  releaseAll();
  seat.open = false; seat.role = 'viewer'; seat.token = '';
  waiting.forEach(done => done({ ok: false, text: 'the connection was lost' }));
  waiting.clear();
  tell('down');
}
window.addEventListener('offline', () => { releaseAll(); renew(); socket?.close(); });
export function connect() {
  socket = new WebSocket(`ws://${location.host}${location.pathname}ws`);
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => { seat.open = true; };
  socket.onmessage = receive;
  socket.onclose = () => { lost(); setTimeout(connect, 700); };
}
