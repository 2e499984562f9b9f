// A SQL statement, read-only or editable. Lines wrap: a statement is often one long line.
import { sql } from "@codemirror/lang-sql";
import { EditorView } from "@codemirror/view";
import { Editor } from "./Editor";

const SQL = [sql(), EditorView.lineWrapping];

export default function SqlEditor(props: { value: string; label: string; onChange?: (value: string) => void }) {
  return <Editor {...props} language={SQL} />;
}
