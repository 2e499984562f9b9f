// What changed between two texts, in one column: it fits a phone too.
import { python as pythonLanguage } from "@codemirror/lang-python";
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { REVIEW } from "../generated/words";
import { look } from "./look";

export default function Diff({ before, after, label, python = false }: { before: string; after: string; label: string; python?: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const view = new EditorView({
      doc: after.replace(/\n$/, ""),
      extensions: [
        ...look(label),
        ...(python ? [lineNumbers(), pythonLanguage()] : [EditorView.lineWrapping]),
        EditorState.readOnly.of(true),
        EditorView.editable.of(false),
        unifiedMergeView({ original: before.replace(/\n$/, ""), mergeControls: false, gutter: true, collapseUnchanged: { margin: 3, minSize: 8 } }),
      ],
      parent: box.current ?? undefined,
    });
    return () => view.destroy();
  }, [before, after, label, python]);
  return (
    <>
      {before === after && <p className="dimmed">{REVIEW.diff_none}</p>}
      <div className="code diff" ref={box} data-testid="diff" />
    </>
  );
}
