// A Python program, read-only or editable.
import { python } from "@codemirror/lang-python";
import { lineNumbers } from "@codemirror/view";
import { Editor } from "./Editor";

const PYTHON = [lineNumbers(), python()];

export default function CodeEditor(props: { value: string; label: string; onChange?: (value: string) => void }) {
  return <Editor {...props} language={PYTHON} />;
}
