// Sliders for the joints below a scene; forward kinematics here, loops closed by Newton's method.
(() => {
  'use strict';
  const description = JSON.parse(document.getElementById('robot').textContent);
  const stage = document.querySelector('.scene'), scene = ServoTwinScene.create(stage, description);
  const UNITS = { rad: ['°', 180 / Math.PI, Math.PI], m: ['mm', 1e3, 0.5] }, q = description.q.slice();
  const views = document.createElement('div');
  views.className = 'views';
  for (const name of ['iso', 'front', 'side', 'top']) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name;
    button.addEventListener('click', () => scene.view(name));
    views.append(button);
  }
  stage.append(views);
  const tip = () => {
    const X = scene.toolPose(), p = [3, 7, 11].map(i => (1e3 * X[i]).toFixed(1).replace(/^-(0\.?0*)$/, '$1'));
    document.querySelector('.tip').textContent = `tool ${p.join(', ')} mm`;
  };
  description.joints.forEach((joint, k) => {
    const [unit, factor, wide] = UNITS[joint.unit], label = document.createElement('label');
    const name = document.createElement('span'), slider = document.createElement('input'), value = document.createElement('output');
    name.textContent = name.title = joint.name;
    slider.type = 'range';
    slider.min = joint.low === null ? joint.home - wide : joint.low;
    slider.max = joint.high === null ? joint.home + wide : joint.high;
    slider.step = 'any';
    slider.value = q[k];
    const write = () => { value.textContent = `${(q[k] * factor).toFixed(1).replace(/^-(0\.?0*)$/, '$1')} ${unit}`; };
    slider.addEventListener('input', () => {
      const last = q[k];
      q[k] = Number(slider.value);
      if (!scene.setJoints(q)) { q[k] = last; slider.value = last; }  // the loops do not close there
      write();
      tip();
    });
    write();
    label.append(name, slider, value);
    document.querySelector('.joints').append(label);
  });
  const longest = Math.max(...[...document.querySelectorAll('.joints label span')].map(span => span.scrollWidth));
  document.querySelector('.joints').style.setProperty('--name', `${Math.min(Math.max(longest + 1, 56), 160)}px`);
  scene.setJoints(q);
  tip();
  window.picture = { scene, q };
})();
