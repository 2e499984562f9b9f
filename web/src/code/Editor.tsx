// A text in CodeMirror: shown, or edited.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { indentUnit } from "@codemirror/language";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { useEffect, useEffectEvent, useRef } from "react";
import { look } from "./look";

// Marked text that is typed over: Chromium, left alone with it, writes a style attribute to keep its looks, which our
// policy refuses and the console reports.
const typedOver = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== "insertText" || event.isComposing || !event.data || view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

interface Props {
  value: string;
  label: string;
  /** How it is coloured: the same value each time, as the editor begins anew with another. */
  language: Extension;
  /** Given: the text can be edited. `value` is then only where the editing begins. */
  onChange?: (value: string) => void;
}

export function Editor({ value, label, language, onChange }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const editable = onChange !== undefined;
  const changed = useEffectEvent((text: string) => onChange?.(text));
  const begun = useEffectEvent(() => value);
  useEffect(() => {
    const editing = [
      history(),
      typedOver,
      indentUnit.of("    "),
      keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) changed(update.state.doc.toString());
      }),
    ];
    const showing = [EditorState.readOnly.of(true), EditorView.editable.of(false)];
    const view = new EditorView({
      doc: editable ? begun() : begun().replace(/\n$/, ""),
      extensions: [...look(label), language, ...(editable ? editing : showing)],
      parent: box.current ?? undefined,
    });
    if (editable) view.focus();
    return () => view.destroy();
  }, [label, language, editable, editable ? "" : value]);
  return <div className="code" ref={box} data-testid="code-text" />;
}
