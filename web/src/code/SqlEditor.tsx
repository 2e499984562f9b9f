// One SQL statement: shown, or edited. Its lines are wrapped: it is often a single one.
import { sql } from "@codemirror/lang-sql";
import { EditorView } from "@codemirror/view";
import { Editor } from "./Editor";

const SQL = [sql(), EditorView.lineWrapping];

export default function SqlEditor(props: { value: string; label: string; onChange?: (value: string) => void }) {
  return <Editor {...props} language={SQL} />;
}
