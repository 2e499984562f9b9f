// A unified diff of two texts: one column, which also fits a phone.
import { python as pythonLanguage } from "@codemirror/lang-python";
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { REVIEW } from "../words";
import { editorTheme } from "./editorTheme";
import codeStyles from "./code.module.css";
import typography from "../ui/typography.module.css";

export default function Diff({ before, after, label, python = false }: { before: string; after: string; label: string; python?: boolean }) {
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const view = new EditorView({
      doc: after.replace(/\n$/, ""),
      extensions: [
        ...editorTheme(label),
        ...(python ? [lineNumbers(), pythonLanguage()] : [EditorView.lineWrapping]),
        EditorState.readOnly.of(true),
        EditorView.editable.of(false),
        unifiedMergeView({ original: before.replace(/\n$/, ""), mergeControls: false, gutter: true, collapseUnchanged: { margin: 3, minSize: 8 } }),
      ],
      parent: container.current ?? undefined,
    });
    return () => view.destroy();
  }, [before, after, label, python]);
  return (
    <>
      {before === after && <p className={typography.dimmed}>{REVIEW.diff_none}</p>}
      <div className={`${codeStyles.code} ${codeStyles.diff}`} ref={container} data-testid="diff" />
    </>
  );
}
