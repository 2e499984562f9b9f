// A question with several fields: the form that its JSON Schema describes. The answer is sent as JSON.
import { Button } from "@mantine/core";
import { useRef, useState } from "react";
import { useCommand } from "../app/sessionContext";
import { useFormDraft } from "../app/useDraft";
import { PAGE, REVIEW } from "../words";
import type { QuestionSection } from "../protocol";
import { ArgumentInput } from "../takeover/ArgumentInput";
import { emptyValue, fieldsOf, missingFields, parseFields } from "../takeover/fields";
import { Markdown } from "../ui/Markdown";
import { Problem } from "../ui/Problem";
import { useFirstFieldFocus } from "./useFirstFieldFocus";
import buttons from "../ui/buttons.module.css";
import formStyles from "../ui/form.module.css";
import panelStyles from "./panel.module.css";

export default function FormQuestion({ question, form }: { question: QuestionSection; form: Record<string, unknown> }) {
  const command = useCommand();
  const formElement = useRef<HTMLFormElement>(null);
  const fields = fieldsOf(form);
  const { value: fieldValues, set: setFieldValues } = useFormDraft(`answer ${question.question_id}`);
  const [showErrors, setShowErrors] = useState(false);
  const { arguments: values, problems } = parseFields(fields, fieldValues);
  for (const name of missingFields(fields, fieldValues)) problems[name] = REVIEW.field_needed;
  useFirstFieldFocus(formElement);
  const send = () => {
    setShowErrors(true);
    if (Object.keys(problems).length === 0) command.send({ type: "answer", content: JSON.stringify(values), question_id: question.question_id });
  };
  return (
    <section className={panelStyles.panel} data-testid="question" aria-label={PAGE.question}>
      <Markdown text={question.content} />
      <form
        ref={formElement}
        className={formStyles.form}
        data-testid="question-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        {fields.map((field) => (
          <ArgumentInput
            key={field.name}
            field={field}
            value={fieldValues[field.name] ?? emptyValue(field)}
            problem={showErrors ? problems[field.name] : undefined}
            onChange={(value) => setFieldValues({ ...fieldValues, [field.name]: value })}
          />
        ))}
        <div className={buttons.row}>
          <Button type="submit" loading={command.busy} data-testid="question-send">
            {REVIEW.answer_send}
          </Button>
        </div>
      </form>
      <Problem error={command.error} />
    </section>
  );
}
