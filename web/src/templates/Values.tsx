// The values of a template's parameters, in a form.
import { useState } from "react";
import { REVIEW } from "../generated/words";
import { ArgumentInput } from "../takeover/ArgumentInput";
import { emptyOf, type Entered, enteredFor, type Field, fieldsOf, filled, unfilled } from "../takeover/fields";

export interface ValuesForm {
  fields: readonly Field[];
  entered: Record<string, Entered>;
  enter: (name: string, value: Entered) => void;
  values: Record<string, unknown>;
  /** By field: why its content is no value. */
  problems: Record<string, string>;
}

export function useValues(schema: Record<string, unknown>, given: Record<string, unknown> = {}): ValuesForm {
  const fields = fieldsOf(schema);
  const [entered, setEntered] = useState(() => enteredFor(fields, given));
  const { arguments: values, problems } = filled(fields, entered);
  for (const name of unfilled(fields, entered)) problems[name] = REVIEW.field_needed;
  return { fields, entered, values, problems, enter: (name, value) => setEntered({ ...entered, [name]: value }) };
}

/** `tried`: the person has sent the form, and is told what is missing. */
export function Values({ form, tried, autoFocus = false }: { form: ValuesForm; tried: boolean; autoFocus?: boolean }) {
  return form.fields.map((field, index) => (
    <ArgumentInput
      key={field.name}
      field={field}
      value={form.entered[field.name] ?? emptyOf(field)}
      problem={tried ? form.problems[field.name] : undefined}
      autoFocus={autoFocus && index === 0}
      onChange={(value) => form.enter(field.name, value)}
    />
  ));
}
