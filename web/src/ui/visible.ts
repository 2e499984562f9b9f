// Characters that nobody sees but that change what is read: controls, line separators, and those that only format, among
// them the ones that show text in another order than it has. Each is shown as its number, as the terminal does.

// Joiners stay: Persian and emoji need them, and they move nothing.
const UNSEEN = /(?![\n\r\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
// Fields hold what will be sent, and CodeMirror shows such characters by itself.
const UNTOUCHED = "textarea, input, script, style, .cm-content";

const SPOKEN = ["aria-label", "title"]; // what is read out, or shown at a pointer, instead of the text

export const numberOf = (code: number): string => `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;

export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => numberOf(character.codePointAt(0) ?? 0));
}

/** All text under `root` is visible before it is painted, whoever puts it there: no component has to think of it. */
export function keepVisible(root: Node): void {
  new MutationObserver((records) => {
    for (const { type, target, addedNodes } of records) {
      if (type === "childList") addedNodes.forEach(showAll);
      else show(target);
    }
  }).observe(root, { subtree: true, childList: true, characterData: true, attributeFilter: SPOKEN });
}

function showAll(node: Node): void {
  const all = document.createTreeWalker(node, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let one: Node | null = all.currentNode; one; one = all.nextNode()) show(one);
}

function show(node: Node): void {
  if (node instanceof Element) SPOKEN.forEach((name) => showName(node, name));
  else if (node instanceof Text && !node.parentElement?.closest(UNTOUCHED)) {
    const shown = visible(node.data);
    if (shown !== node.data) node.data = shown;
  }
}

function showName(element: Element, name: string): void {
  const read = element.getAttribute(name) ?? "";
  const shown = visible(read);
  if (shown !== read) element.setAttribute(name, shown);
}
