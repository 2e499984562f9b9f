// Form fields for the values of a template's parameters.
import { useFormDraft } from "../app/useDraft";
import { REVIEW } from "../words";
import { ArgumentInput } from "../takeover/ArgumentInput";
import { emptyValue, type Field, fieldsOf, type FieldValue, missingFields, parseFields, toFieldValues } from "../takeover/fields";

interface ValuesForm {
  fields: readonly Field[];
  fieldValues: Record<string, FieldValue>;
  setFieldValue: (name: string, value: FieldValue) => void;
  clear: () => void;
  values: Record<string, unknown>;
  /** By field: why its content is not a valid value. */
  problems: Record<string, string>;
}

/** `name` says which form it is: what was entered in it is kept. `initial`: the values of its fields before that. */
export function useTemplateValues(schema: Record<string, unknown>, name: string, initial: Record<string, unknown> = {}): ValuesForm {
  const fields = fieldsOf(schema);
  const { value, set: setFieldValues } = useFormDraft(name);
  const fieldValues = { ...toFieldValues(fields, initial), ...value };
  const { arguments: values, problems } = parseFields(fields, fieldValues);
  for (const name of missingFields(fields, fieldValues)) problems[name] = REVIEW.field_needed;
  return { fields, fieldValues, values, problems, setFieldValue: (name, value) => setFieldValues({ ...fieldValues, [name]: value }), clear: () => setFieldValues({}) };
}

/** `showErrors`: the user has submitted the form, so problems are shown. */
export function TemplateValues({ form, showErrors, autoFocus = false }: { form: ValuesForm; showErrors: boolean; autoFocus?: boolean }) {
  return form.fields.map((field, index) => (
    <ArgumentInput
      key={field.name}
      field={field}
      value={form.fieldValues[field.name] ?? emptyValue(field)}
      problem={showErrors ? form.problems[field.name] : undefined}
      autoFocus={autoFocus && index === 0}
      onChange={(value) => form.setFieldValue(field.name, value)}
    />
  ));
}
