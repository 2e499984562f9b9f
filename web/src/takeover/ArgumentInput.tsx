// The form field for one argument of a tool. A reference to a step's output is always text.
import { Checkbox, NativeSelect, NumberInput, TagsInput, Textarea, TextInput } from "@mantine/core";
import type { KeyboardEvent } from "react";
import { PAGE, REVIEW } from "../words";
import { ADDITIONAL, type Field, type FieldValue } from "./fields";

interface Props {
  field: Field;
  value: FieldValue;
  problem: string | undefined;
  autoFocus?: boolean;
  onChange: (value: FieldValue) => void;
}

export function ArgumentInput({ field, value, problem, onChange, autoFocus = false }: Props) {
  const { name, description, required, kind, defaultValue } = field;
  const testId = `argument-${name}`;
  const common = { label: name === ADDITIONAL ? PAGE.other_arguments : name, description, error: problem, withAsterisk: required, autoFocus, "data-testid": testId };
  const placeholder = defaultValue === undefined || defaultValue === null || defaultValue === "" ? undefined : typeof defaultValue === "string" ? defaultValue : JSON.stringify(defaultValue);
  const text = typeof value === "string" ? value : "";
  if (text.startsWith("{") && kind !== "text" && kind !== "json") return <TextInput {...common} value={text} onChange={(event) => onChange(event.currentTarget.value)} />;
  switch (kind) {
    case "list":
      return <TagsInput {...common} placeholder={REVIEW.arguments_hint} value={Array.isArray(value) ? value : []} onChange={onChange} allowDuplicates acceptValueOnBlur />;
    case "flag":
      return <Checkbox label={name} description={description} error={problem} checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} data-testid={testId} />;
    case "choice":
      return <NativeSelect {...common} value={text} onChange={(event) => onChange(event.currentTarget.value)} data={["", ...field.options.map(String)]} />;
    case "number":
    case "integer":
      return <NumberInput {...common} hideControls allowDecimal={kind === "number"} placeholder={placeholder} value={text} onChange={(next) => onChange(String(next))} />;
    case "json":
      return <Textarea {...common} placeholder={placeholder ?? "JSON"} autosize minRows={2} maxRows={12} value={text} onChange={(event) => onChange(event.currentTarget.value)} />;
    default:
      return <Textarea {...common} placeholder={placeholder} autosize minRows={1} maxRows={8} value={text} onChange={(event) => onChange(event.currentTarget.value)} onKeyDown={submitOnEnter} />;
  }
}

/** Enter submits the form, as in a single-line field; Shift+Enter starts a new line. */
function submitOnEnter(event: KeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== "Enter" || event.shiftKey) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}
