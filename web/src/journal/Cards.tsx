// What services made, small: the newest of it is shown in full below the journal.
import { lazy, Suspense } from "react";
import { useSession } from "../app/session";
import { Judge } from "../flow/Judge";
import { answered } from "../flow/tables";
import { clock, plural } from "../ui/format";
import { confidenceWords } from "../ui/values";
import { InlineText } from "../ui/InlineText";
import { Markdown } from "../ui/Markdown";
import { Tone } from "../ui/Tone";
import { MARKS, wordOf } from "../review/Checks";
import type { Entry } from "./entries";
import { showAction } from "./showAction";

const Findings = lazy(() => import("../result/Findings"));

type Of<K extends Entry["kind"]> = Extract<Entry, { kind: K }>;

export function PlanCard({ entry, by }: { entry: Of<"plan">; by: string }) {
  const { event } = entry;
  const verb = event.type === "plan.edited" ? "edited" : "drafted";
  return (
    <details className="card" data-testid="plan-card">
      <summary>
        <strong>
          {entry.path ? "Path" : "Plan"} {entry.number}
        </strong>
        <span className="card-what">
          {by} {verb} {plural(event.steps.length, "step")}
        </span>
        <time dateTime={entry.at}>{clock(entry.at)}</time>
      </summary>
      <p>
        <InlineText text={event.goal} />
      </p>
      <ol>
        {event.steps.map((step, index) => (
          <li key={index}>
            <InlineText text={step.text} />
          </li>
        ))}
      </ol>
      {event.notes && <p className="dimmed">{event.notes}</p>}
    </details>
  );
}

export function CodeCard({ entry, by }: { entry: Of<"code">; by: string }) {
  const { event, checks } = entry;
  const lines = event.code.trimEnd().split("\n").length;
  return (
    <details className="card" data-testid="code-card">
      <summary>
        <strong>Code {entry.number}</strong>
        <span className="card-what">
          {by} {event.type === "code.edited" ? "edited" : "wrote"} {plural(lines, "line")}
        </span>
        {checks?.map((check) => (
          <Tone key={check.name} tone={check.ok === null ? "plain" : check.ok ? "good" : "bad"} title={wordOf(check)}>
            {MARKS[wordOf(check)]} {check.name}
          </Tone>
        ))}
        <time dateTime={entry.at}>{clock(entry.at)}</time>
      </summary>
      <pre tabIndex={0}>{event.code}</pre>
    </details>
  );
}

export function QuestionCard({ entry, by }: { entry: Of<"question">; by: string }) {
  const { state } = useSession();
  const open = entry.answer === null && state.snapshot?.question?.question_id === entry.actionId;
  if (open) return null; // asked in full below
  // Somebody chose to go on: it is Parley that then asks how.
  return (
    <article className="card" data-testid="question-card">
      <span className="card-what">{entry.by.startsWith("user:") ? "Parley" : by} asked</span>
      <Markdown text={entry.text} />
      {entry.answer !== null && (
        <div className="said said-mine">
          <p>{answered(entry.answer)}</p>
        </div>
      )}
    </article>
  );
}

export function AnswerCard({ entry }: { entry: Of<"answer"> }) {
  const { state } = useSession();
  if (entry.found)
    return (
      <article className="card answer" data-testid="answer">
        <Markdown text={entry.text} />
        <Suspense fallback={entry.found.table && <div className="chart-waiting" />}>
          <Findings found={entry.found} />
        </Suspense>
        <Judge accepted={entry.accepted} saved={entry.saved} newest={state.events.findLast((event) => event.type === "answer.given")?.version === entry.version} />
      </article>
    );
  return (
    <article className="card answer" data-testid="answer">
      <Markdown text={entry.text} />
      <p className="answer-foot">
        <span data-testid="confidence">
          {confidenceWords(entry.confidence)} <span className="dimmed">({Math.round(entry.confidence * 100)} %)</span>
        </span>
        {entry.evidence.length > 0 && <span className="dimmed">because of</span>}
        {entry.evidence.map((one) => (
          <button key={one.id} type="button" className="chip" onClick={() => showAction(one.id)} data-testid="evidence">
            {one.id} {one.tool}
          </button>
        ))}
      </p>
    </article>
  );
}

export function FailureCard({ entry }: { entry: Of<"failure"> }) {
  return (
    <article className="card card-bad" data-testid="failure-card">
      <strong>Failed while {entry.stage}</strong>
      <p>{entry.reason}</p>
      {entry.raw && (
        <details>
          <summary>What the model said</summary>
          <pre tabIndex={0}>{entry.raw}</pre>
        </details>
      )}
    </article>
  );
}
