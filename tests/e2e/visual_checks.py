"""Visual and accessibility checks: JavaScript that returns a list of problems."""

# Resolves when all transitions have ended, including those that they trigger: colours are final only then. Endless
# animations are ignored.
TRANSITIONS_ENDED = """async () => {
  const isFinite = ({ effect }) => effect.getComputedTiming().endTime < 1000;
  const isMoving = (animation) => animation.playState === 'running' && isFinite(animation);
  const frame = () => new Promise(requestAnimationFrame);
  for (let quiet = 0, frames = 0; quiet < 2 && frames < 60; frames++) {
    await frame();
    quiet = document.getAnimations().some(isMoving) ? 0 : quiet + 1;
  }
}"""

# Text with too little contrast to its background, by WCAG 2: below 4.5, or below 3 for large text.
LOW_CONTRAST = """() => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 });
  const brush = canvas.getContext('2d', { willReadFrequently: true });
  const cache = new Map();
  const rgba = (colour) => cache.get(colour) ?? cache.set(colour, painted(colour)).get(colour);
  const painted = (colour) => {
    brush.clearRect(0, 0, 1, 1); brush.fillStyle = colour; brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data].map((v, i) => (i < 3 ? v : v / 255));
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const backgroundOf = (element) => {
    const layers = [];
    for (let ancestor = element; ancestor; ancestor = ancestor.parentElement) {
      layers.push(rgba(getComputedStyle(ancestor).backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), rgba('white'));
  };
  const luminance = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), problems = new Set();
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || !element.checkVisibility({ opacityProperty: true })) continue;
    if (element.closest(':disabled, script, style')) continue;
    const style = getComputedStyle(element), back = backgroundOf(element), front = over(rgba(style.color), back);
    const [high, low] = [luminance(front), luminance(back)].sort((a, b) => b - a), ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5))
      problems.add(`contrast ${ratio.toFixed(2)}: ${text.slice(0, 40)} (${element.className})`);
  }
  return [...problems];
}"""

# Visible controls without an accessible name.
UNLABELLED = """() => [...document.querySelectorAll('button, a[href], input, textarea, select, summary, [role=button]')]
  .filter((element) => element.checkVisibility() && element.type !== 'hidden')
  .filter((element) => {
    const ids = (element.getAttribute('aria-labelledby') ?? '').split(' ');
    const by = ids.map((id) => document.getElementById(id)?.innerText);
    const label = [...(element.labels ?? [])].map((label) => label.innerText);
    const own = element.matches('input, textarea, select') ? '' : element.innerText;
    return ![element.getAttribute('aria-label'), ...by, ...label, own, element.title].some((name) => name?.trim());
  })
  .map((element) => `no name: ${element.outerHTML.slice(0, 120)}`)"""

# "" if the focused element shows its focus: it looks different from its unfocused state.
MISSING_FOCUS_MARK = """async () => {
  const element = document.activeElement;
  if (element === document.body) return '';
  const late = () => new Promise((done) => setTimeout(done, 50)); // CodeMirror shows a change of focus after 10 ms
  const settled = async () => { if (element.closest('.cm-editor')) await late(); await (TRANSITIONS_ENDED)(); };
  const frame = element.closest('.cm-editor, .mantine-TagsInput-input') ?? element;
  const look = () => [element, element.parentElement, frame].map((styled) => {
    const { outlineStyle, outlineWidth, boxShadow, borderColor } = getComputedStyle(styled);
    return [outlineStyle === 'none' ? '' : outlineWidth, boxShadow, borderColor].join();
  }).join();
  await settled();
  const focused = look();
  element.blur();
  await settled();
  const plain = look();
  element.focus({ focusVisible: true, preventScroll: true });
  return focused === plain ? `no focus mark: ${element.outerHTML.slice(0, 160)}` : '';
}""".replace("TRANSITIONS_ENDED", TRANSITIONS_ENDED)

# Elements that overflow the window on the right, except inside boxes that scroll.
OVERFLOWING = """() => [...document.querySelectorAll('main *, header *, footer *, [role=dialog] *')]
  .filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > innerWidth + 1)
  .filter((element) => !element.closest('pre, .cm-editor, .markdown-table, .sr-only'))
  .map((element) => `overflows: ${element.className} ${element.innerText?.slice(0, 40)}`)"""

# Records layout shifts in `window.shifts`, by the Layout Instability API. Those soon after input count as well:
# on a slow machine the same shifts come later.
LAYOUT_SHIFT = """() => {
  window.shifts = [];
  const nameOf = ({ node }) => node?.className ?? node?.nodeName;
  const describe = (entry) => ({ by: entry.value, what: entry.sources.map(nameOf) });
  new PerformanceObserver((list) => window.shifts.push(...list.getEntries().map(describe)))
    .observe({ type: 'layout-shift' });
}"""
