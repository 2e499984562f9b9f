// Characters that nobody sees but that change what is read: controls, line separators, and those that only format, among
// them the ones that show text in another order than it has. Each is shown as its number, as the terminal does.

// Joiners stay: Persian and emoji need them, and they move nothing.
const UNSEEN = /(?![\n\r\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
// Fields hold what will be sent, and CodeMirror shows such characters by itself.
const UNTOUCHED = "textarea, input, script, style, .cm-content";

export const numberOf = (code: number): string => `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;

export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => numberOf(character.codePointAt(0) ?? 0));
}

/** All text under `root` is visible before it is painted, whoever puts it there: no component has to think of it. */
export function keepVisible(root: Node): void {
  new MutationObserver((records) => {
    for (const { type, target, addedNodes } of records) {
      if (type === "characterData") show(target);
      else addedNodes.forEach(showAll);
    }
  }).observe(root, { subtree: true, childList: true, characterData: true });
}

function showAll(node: Node): void {
  const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  for (let text: Node | null = texts.currentNode; text; text = texts.nextNode()) if (text.nodeType === Node.TEXT_NODE) show(text);
}

function show(text: Node): void {
  const read = text.nodeValue ?? "";
  const shown = visible(read);
  if (shown !== read && !text.parentElement?.closest(UNTOUCHED)) text.nodeValue = shown;
}
