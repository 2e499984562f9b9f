"""What to ask a page about its looks: JavaScript that returns a list of what is wrong."""

# Resolves when every transition, and those that it sets off, has come to its end: only then colours are what they
# will be. What has no end is not waited for.
SETTLED = """async () => {
  const moves = (one) => one.playState === 'running' && one.effect.getComputedTiming().endTime < 1000;
  const frame = () => new Promise(requestAnimationFrame);
  for (let quiet = 0, frames = 0; quiet < 2 && frames < 60; frames++) {
    await frame();
    quiet = document.getAnimations().some(moves) ? 0 : quiet + 1;
  }
}"""

# Contrast of text against the nearest painted background, as WCAG 2 counts it: 4.5, or 3 where the text is large.
LOW_CONTRAST = """() => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 });
  const brush = canvas.getContext('2d', { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => known.get(colour) ?? known.set(colour, painted(colour)).get(colour);
  const painted = (colour) => {
    brush.clearRect(0, 0, 1, 1); brush.fillStyle = colour; brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data].map((v, i) => (i < 3 ? v : v / 255));
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const behind = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) {
      layers.push(rgba(getComputedStyle(at).backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), rgba('white'));
  };
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), wrong = new Set();
  while (words.nextNode()) {
    const one = words.currentNode.parentElement, text = words.currentNode.textContent.trim();
    if (!text || !one.checkVisibility({ opacityProperty: true }) || one.closest(':disabled, script, style')) continue;
    const style = getComputedStyle(one), back = behind(one), front = over(rgba(style.color), back);
    const [high, low] = [light(front), light(back)].sort((a, b) => b - a), ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) wrong.add(`contrast ${ratio.toFixed(2)}: ${text.slice(0, 40)} (${one.className})`);
  }
  return [...wrong];
}"""

# Controls in sight that have no name for those who cannot see them.
NAMELESS = """() => [...document.querySelectorAll('button, a[href], input, textarea, select, summary, [role=button]')]
  .filter((one) => one.checkVisibility() && one.type !== 'hidden')
  .filter((one) => {
    const ids = (one.getAttribute('aria-labelledby') ?? '').split(' ');
    const by = ids.map((id) => document.getElementById(id)?.innerText);
    const label = [...(one.labels ?? [])].map((label) => label.innerText);
    const own = one.matches('input, textarea, select') ? '' : one.innerText;
    return ![one.getAttribute('aria-label'), ...by, ...label, own, one.title].some((name) => name?.trim());
  })
  .map((one) => `no name: ${one.outerHTML.slice(0, 120)}`)"""

# "" if one can see that the focused element has the focus: it differs from what it looks like without.
WITHOUT_FOCUS_MARK = """async () => {
  const one = document.activeElement;
  if (one === document.body) return '';
  const late = () => new Promise((done) => setTimeout(done, 50)); // CodeMirror shows a change of focus after 10 ms
  const settled = async () => { if (one.closest('.cm-editor')) await late(); await (SETTLED)(); };
  const look = () => [one, one.parentElement, one.closest('.cm-editor, .mantine-TagsInput-input') ?? one].map((at) => {
    const { outlineStyle, outlineWidth, boxShadow, borderColor } = getComputedStyle(at);
    return [outlineStyle === 'none' ? '' : outlineWidth, boxShadow, borderColor].join();
  }).join();
  await settled();
  const focused = look();
  one.blur();
  await settled();
  const plain = look();
  one.focus({ focusVisible: true, preventScroll: true });
  return focused === plain ? `no focus mark: ${one.outerHTML.slice(0, 160)}` : '';
}""".replace("SETTLED", SETTLED)

# What sticks out of the window at the right: boxes that scroll by themselves may be wider inside.
OUTSIDE = """() => [...document.querySelectorAll('main *, header *, footer *, [role=dialog] *')]
  .filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1)
  .filter((one) => !one.closest('pre, .cm-editor, .markdown-table, .sr-only'))
  .map((one) => `sticks out: ${one.className} ${one.innerText?.slice(0, 40)}`)"""

# From now on `window.moved` tells what moved without anybody having touched the page, as Layout Instability counts it.
LAYOUT_SHIFT = """() => {
  window.moved = [];
  const told = (one) => ({ by: one.value, what: one.sources.map((s) => s.node?.className ?? s.node?.nodeName) });
  const fresh = (list) => list.getEntries().filter((one) => !one.hadRecentInput).map(told);
  new PerformanceObserver((list) => window.moved.push(...fresh(list)))
    .observe({ type: 'layout-shift' });
}"""
