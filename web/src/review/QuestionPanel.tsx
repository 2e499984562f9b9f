// A question to the user with its options as buttons; other answers are written in the composer.
import { lazy } from "react";
import { useCommand, useSession } from "../app/sessionContext";
import { tablesOf } from "../flow/tables";
import { PAGE, REVIEW } from "../words";
import { Markdown } from "../ui/Markdown";
import { LazyBoundary } from "../ui/LazyBoundary";
import { Problem } from "../ui/Problem";
import { OptionButtons } from "./OptionButtons";
import { needsForm } from "./questionSet";
import panelStyles from "./panel.module.css";
import typography from "../ui/typography.module.css";

// Questions that can be answered only with one of their options.
const OPTIONS_ONLY: ReadonlySet<string> = new Set(["budget", "uncertain"]);
const RaiseBudget = lazy(() => import("./RaiseBudget"));
const QuestionSet = lazy(() => import("./QuestionSet"));
const FormQuestion = lazy(() => import("./FormQuestion"));
const TablesQuestion = lazy(() => import("../flow/TablesQuestion"));

export function QuestionPanel() {
  const question = useSession(({ state }) => state.snapshot?.question);
  const command = useCommand();
  if (!question) return null;
  const tables = tablesOf(question.form);
  if (tables)
    return (
      <LazyBoundary>
        <TablesQuestion key={question.question_id} question={question} tables={tables} />
      </LazyBoundary>
    );
  if (question.form?.type === "object")
    return (
      <LazyBoundary>
        <FormQuestion key={question.question_id} question={question} form={question.form} />
      </LazyBoundary>
    );
  if (needsForm(question))
    return (
      <LazyBoundary>
        <QuestionSet key={question.question_id} question={question} />
      </LazyBoundary>
    );
  return (
    <section className={panelStyles.panel} data-testid="question" aria-label={PAGE.question}>
      <Markdown text={question.content} />
      <OptionButtons
        options={question.options}
        testId="question-option"
        busy={command.busy}
        onChoose={(content) => command.send({ type: "answer", content, question_id: question.question_id })}
      />
      {question.about === "budget" && (
        <LazyBoundary>
          <RaiseBudget />
        </LazyBoundary>
      )}
      {!OPTIONS_ONLY.has(question.about) && <p className={typography.hint}>{question.options.length > 0 ? REVIEW.or_write : REVIEW.write_below}</p>}
      <Problem error={command.error} />
    </section>
  );
}
