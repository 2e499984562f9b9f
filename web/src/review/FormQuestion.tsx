// A question that is answered by several fields: the form that its JSON Schema describes. The answer is sent as JSON.
import { Button } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useAct } from "../app/session";
import { PAGE, REVIEW } from "../generated/words";
import type { QuestionSection } from "../protocol";
import { ArgumentInput } from "../takeover/ArgumentInput";
import { emptyOf, type Entered, fieldsOf, filled, unfilled } from "../takeover/fields";
import { Markdown } from "../ui/Markdown";
import { Problem } from "../ui/Problem";

export default function FormQuestion({ question, form }: { question: QuestionSection; form: Record<string, unknown> }) {
  const act = useAct();
  const box = useRef<HTMLFormElement>(null);
  const fields = fieldsOf(form);
  const [entered, setEntered] = useState<Record<string, Entered>>({});
  const [tried, setTried] = useState(false);
  const { arguments: values, problems } = filled(fields, entered);
  for (const name of unfilled(fields, entered)) problems[name] = REVIEW.field_needed;
  useEffect(() => {
    // On a phone this would open the keyboard; and nobody is taken away from what they are writing.
    const at = document.activeElement;
    const free = at?.matches("body, main") || (at instanceof HTMLTextAreaElement && !!at.closest("#composer") && at.value === "");
    if (free && window.matchMedia("(pointer: fine)").matches) box.current?.querySelector<HTMLElement>("input, textarea, select")?.focus();
  }, []);
  const send = () => {
    setTried(true);
    if (Object.keys(problems).length === 0) act.send({ type: "answer", content: JSON.stringify(values), question_id: question.question_id });
  };
  return (
    <section className="panel panel-question" data-testid="question" aria-label={PAGE.question}>
      <Markdown text={question.content} />
      <form
        ref={box}
        className="question-form"
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
            value={entered[field.name] ?? emptyOf(field)}
            problem={tried ? problems[field.name] : undefined}
            onChange={(value) => setEntered({ ...entered, [field.name]: value })}
          />
        ))}
        <div className="decision-buttons">
          <Button type="submit" loading={act.busy} data-testid="question-send">
            {REVIEW.answer_send}
          </Button>
        </div>
      </form>
      <Problem error={act.error} />
    </section>
  );
}
