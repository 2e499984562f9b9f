// A CodeMirror editor, read-only or editable.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { indentUnit } from "@codemirror/language";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { useEffect, useEffectEvent, useRef } from "react";
import { editorTheme } from "./editorTheme";
import codeStyles from "./code.module.css";

// When the user types over a selection, Chromium adds a style attribute to preserve its appearance. The CSP refuses
// that attribute, and the console reports it. So the editor replaces the selection itself.
const replaceOnType = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== "insertText" || event.isComposing || !event.data || view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

interface Props {
  value: string;
  label: string;
  /** The language extension. Pass the same object each time: a new one recreates the editor. */
  language: Extension;
  /** If given, the text is editable and `value` is only its initial content. */
  onChange?: (value: string) => void;
}

export function Editor({ value, label, language, onChange }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const isEditable = onChange !== undefined;
  const onDocChange = useEffectEvent((text: string) => onChange?.(text));
  const initialValue = useEffectEvent(() => value);
  useEffect(() => {
    const editing = [
      history(),
      replaceOnType,
      indentUnit.of("    "),
      keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onDocChange(update.state.doc.toString());
      }),
    ];
    const reading = [EditorState.readOnly.of(true), EditorView.editable.of(false)];
    const view = new EditorView({
      doc: isEditable ? initialValue() : initialValue().replace(/\n$/, ""),
      extensions: [...editorTheme(label), language, ...(isEditable ? editing : reading)],
      parent: container.current ?? undefined,
    });
    if (isEditable) view.focus();
    return () => view.destroy();
  }, [label, language, isEditable, isEditable ? "" : value]);
  return <div className={codeStyles.code} ref={container} data-testid="code-text" />;
}
