// Invisible characters that change what is read: controls, line separators, and format characters, including those that
// reorder text. The page shows each as its code point, as the terminal does.

// Joiners stay: Persian and emoji need them, and they move nothing.
const INVISIBLE = /(?![\n\r\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
// Fields hold what will be sent, and CodeMirror shows such characters itself.
const EXCLUDED = "textarea, input, script, style, .cm-content";

const LABEL_ATTRIBUTES = ["aria-label", "title"]; // read by screen readers, or shown as a tooltip

export const codePointLabel = (code: number): string => `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;

export function escapeInvisible(text: string): string {
  return text.replace(INVISIBLE, (character) => codePointLabel(character.codePointAt(0) ?? 0));
}

/** Escapes all text under `root` before it is painted, so that components need not do it. */
export function observeInvisible(root: Node): void {
  new MutationObserver((records) => {
    for (const { type, target, addedNodes } of records) {
      if (type === "childList") addedNodes.forEach(escapeTree);
      else escapeNode(target);
    }
  }).observe(root, { subtree: true, childList: true, characterData: true, attributeFilter: LABEL_ATTRIBUTES });
}

function escapeTree(node: Node): void {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let node: Node | null = walker.currentNode; node; node = walker.nextNode()) escapeNode(node);
}

function escapeNode(node: Node): void {
  if (node instanceof Element) LABEL_ATTRIBUTES.forEach((name) => escapeAttribute(node, name));
  else if (node instanceof Text && !node.parentElement?.closest(EXCLUDED)) {
    const escaped = escapeInvisible(node.data);
    if (escaped !== node.data) node.data = escaped;
  }
}

function escapeAttribute(element: Element, name: string): void {
  const value = element.getAttribute(name) ?? "";
  const escaped = escapeInvisible(value);
  if (escaped !== value) element.setAttribute(name, escaped);
}
