// The CodeMirror theme. It uses CSS variables, so one editor serves light and dark mode.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView, highlightSpecialChars } from "@codemirror/view";
import { tags as t } from "@lezer/highlight";
import { nonce } from "../nonce";
import { codePointLabel } from "../ui/invisibleCharacters";

const highlighting = HighlightStyle.define([
  { tag: [t.keyword, t.operatorKeyword, t.controlKeyword, t.definitionKeyword, t.moduleKeyword], color: "var(--code-keyword)" },
  { tag: [t.string, t.special(t.string), t.docString], color: "var(--code-string)" },
  { tag: [t.number, t.bool, t.null], color: "var(--code-number)" },
  { tag: [t.function(t.variableName), t.function(t.definition(t.variableName)), t.className, t.definition(t.className)], color: "var(--code-name)" },
  { tag: t.comment, color: "var(--code-comment)", fontStyle: "italic" },
]);

const baseTheme = EditorView.theme({
  "&": { fontSize: "13px", backgroundColor: "var(--code-background)", color: "var(--code-text)" },
  "&.cm-focused": { outline: "2px solid var(--mantine-primary-color-filled)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mantine-font-family-monospace)", lineHeight: "1.55" },
  ".cm-content": { padding: "10px 6px", caretColor: "var(--code-text)" },
  ".cm-gutters": { backgroundColor: "var(--code-background)", border: "none", color: "var(--code-gutter)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  ".cm-specialChar": { color: "var(--bad)" },
  ".cm-cursor": { borderLeftColor: "var(--code-text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--code-selection)",
  },
});

// CodeMirror's default list lacks some bidirectional and invisible characters.
const invisibleCharacters = highlightSpecialChars({
  addSpecialChars: /[\u{202a}-\u{202c}\u{2060}-\u{2068}\u{206a}-\u{206f}\u{180e}\u{e0000}-\u{e007f}]/gu,
  render: (code, description) => {
    const mark = document.createElement("span");
    mark.className = "cm-specialChar";
    mark.textContent = codePointLabel(code);
    mark.setAttribute("aria-label", description ?? codePointLabel(code));
    return mark;
  },
});

export function editorTheme(label: string): Extension[] {
  return [
    EditorView.cspNonce.of(nonce),
    baseTheme,
    syntaxHighlighting(highlighting),
    invisibleCharacters,
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
  ];
}
