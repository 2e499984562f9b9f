// A question to the person: its options as buttons; anything else is written into the composer.
import { Button } from "@mantine/core";
import { lazy, Suspense } from "react";
import { useAct, useSession } from "../app/session";
import { tablesOf } from "../flow/tables";
import { PAGE, REVIEW } from "../generated/words";
import { Markdown } from "../ui/Markdown";
import { Problem } from "../ui/Problem";

// Only its options answer such a question.
const FIXED: ReadonlySet<string> = new Set(["budget", "uncertain"]);
const RaiseBudget = lazy(() => import("./RaiseBudget"));
const FormQuestion = lazy(() => import("./FormQuestion"));
const TablesQuestion = lazy(() => import("../flow/TablesQuestion"));

export function QuestionPanel() {
  const { state } = useSession();
  const act = useAct();
  const question = state.snapshot?.question;
  if (!question) return null;
  const tables = tablesOf(question.form);
  if (tables)
    return (
      <Suspense>
        <TablesQuestion key={question.question_id} question={question} tables={tables} />
      </Suspense>
    );
  if (question.form?.type === "object")
    return (
      <Suspense>
        <FormQuestion key={question.question_id} question={question} form={question.form} />
      </Suspense>
    );
  return (
    <section className="panel panel-question" data-testid="question" aria-label={PAGE.question}>
      <Markdown text={question.content} />
      {question.options.length > 0 && (
        <div className="decision-buttons">
          {question.options.map((option) => (
            <Button
              key={option}
              variant="light"
              className="wraps"
              data-testid="question-option"
              loading={act.busy}
              onClick={() => act.send({ type: "answer", content: option, question_id: question.question_id })}
            >
              {option}
            </Button>
          ))}
        </div>
      )}
      {question.about === "budget" && (
        <Suspense>
          <RaiseBudget />
        </Suspense>
      )}
      {!FIXED.has(question.about) && <p className="hint">{question.options.length > 0 ? REVIEW.or_write : REVIEW.write_below}</p>}
      <Problem error={act.error} />
    </section>
  );
}
