// What fingers and keys hold. Anything that might mean that nobody holds it any more lets it go:
// pointerup, pointercancel, lostpointercapture, blur, a hidden page, a lost connection.
export const held = { switch: 0, hold: false, frame: 'joint', direction: [], speed: 0.5, user: '' };
const changed = [], releases = new Set();
export const onChange = f => changed.push(f);
export const say = () => changed.forEach(f => f());

export function releaseAll() {
  for (const release of [...releases]) release();
  if (held.switch || held.hold) { held.switch = 0; held.hold = false; held.direction = []; say(); }
}
window.addEventListener('blur', releaseAll);
window.addEventListener('pagehide', releaseAll);
document.addEventListener('visibilitychange', () => { if (document.hidden) releaseAll(); });
document.addEventListener('freeze', releaseAll);
document.addEventListener('contextmenu', event => event.preventDefault());

// A button that counts as long as it is held: begin() when it goes down (false: it does not), end() however it ends.
export function holdButton(element, begin, end) {
  let pointer = null;
  const release = () => {
    if (pointer === null) return;
    const id = pointer;
    pointer = null;
    releases.delete(release);
    element.classList.remove('down');
    if (element.hasPointerCapture(id)) element.releasePointerCapture(id);
    end();
  };
  element.addEventListener('pointerdown', event => {
    if (pointer !== null || element.disabled || (event.pointerType === 'mouse' && event.button !== 0)) return;
    event.preventDefault();
    if (begin(event) === false) return;
    pointer = event.pointerId;
    element.setPointerCapture(pointer);
    element.classList.add('down');
    releases.add(release);
  });
  for (const name of ['pointerup', 'pointercancel', 'lostpointercapture']) {
    element.addEventListener(name, event => { if (event.pointerId === pointer) release(); });
  }
  return release;
}

// The enabling switch: held is the middle, slid down or pressed hard is squeezed; on the keyboard space, and shift for squeezed.
const SLID = 46, HARD = 0.85;
export function enablingSwitch(element) {
  let from = 0, keys = false;
  const set = position => { if (held.switch !== position) { held.switch = position; say(); } show(); };
  const show = () => {
    element.classList.toggle('middle', held.switch === 1);
    element.classList.toggle('squeezed', held.switch === 2);
    element.querySelectorAll('.positions i').forEach((part, k) => part.classList.toggle('on', k === held.switch));
  };
  onChange(show);
  show();
  holdButton(element, event => { from = event.clientY; set(1); }, () => { if (!keys) set(0); });
  element.addEventListener('pointermove', event => {
    if (!element.classList.contains('down')) return;
    const hard = event.clientY - from > SLID || (event.pointerType !== 'mouse' && event.pressure > HARD && event.pressure < 1);
    if (hard) set(2);
  });
  const typing = event => event.target.closest('textarea, input:not([type=range]), select');
  const keyUp = () => { if (!keys) return; keys = false; releases.delete(keyUp); set(0); };
  window.addEventListener('keydown', event => {
    if (event.code === 'Space' && !typing(event)) {
      event.preventDefault();
      if (!event.repeat && !keys) { keys = true; releases.add(keyUp); set(event.shiftKey ? 2 : 1); }
    } else if (event.key === 'Shift' && keys) set(2);
  }, true);
  window.addEventListener('keyup', event => { if (event.code === 'Space') { if (keys) event.preventDefault(); keyUp(); } }, true);
}

// While a key is held that moves something; several may be.
let holders = 0;
export const holdMotion = down => { holders = Math.max(0, holders + (down ? 1 : -1)); held.hold = holders > 0; say(); };
