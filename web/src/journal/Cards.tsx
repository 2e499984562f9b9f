// What services made, small: the newest of it is shown in full below the journal.
import { lazy, Suspense } from "react";
import { useSession } from "../app/session";
import { Judge } from "../flow/Judge";
import { fill, JOURNAL, REVIEW } from "../generated/words";
import { clock } from "../ui/format";
import { InlineText } from "../ui/InlineText";
import { Markdown } from "../ui/Markdown";
import { Tone } from "../ui/Tone";
import { markOf, wordOf } from "../review/Checks";
import type { Entry } from "./entries";
import { showAction } from "./showAction";

const Findings = lazy(() => import("../result/Findings"));

type Of<K extends Entry["kind"]> = Extract<Entry, { kind: K }>;

export function PlanCard({ entry, by }: { entry: Of<"plan">; by: string }) {
  const { state } = useSession();
  const event = state.events[entry.version - 1];
  const plan = event?.type === "plan.drafted" || event?.type === "plan.edited" ? event : null;
  return (
    <details className="card" data-testid="plan-card">
      <summary>
        <strong>{entry.title}</strong>
        <span className="card-what">
          {by} · {entry.summary}
        </span>
        <time dateTime={entry.at}>{clock(entry.at)}</time>
      </summary>
      <p>
        <InlineText text={entry.goal} />
      </p>
      <ol>
        {plan?.steps.map((step, index) => (
          <li key={index}>
            <InlineText text={step.text} />
          </li>
        ))}
      </ol>
      {plan?.notes && <p className="dimmed">{plan.notes}</p>}
    </details>
  );
}

export function CodeCard({ entry, by }: { entry: Of<"code">; by: string }) {
  const { state } = useSession();
  const event = state.events[entry.version - 1];
  return (
    <details className="card" data-testid="code-card">
      <summary>
        <strong>{entry.title}</strong>
        <span className="card-what">
          {by} · {entry.summary}
        </span>
        {entry.checks?.map((check) => (
          <Tone key={check.name} tone={check.ok === null ? "plain" : check.ok ? "good" : "bad"} title={wordOf(check)}>
            {markOf(check)} {check.name}
          </Tone>
        ))}
        <time dateTime={entry.at}>{clock(entry.at)}</time>
      </summary>
      <pre tabIndex={0}>{event?.type === "code.drafted" || event?.type === "code.edited" ? event.code : ""}</pre>
    </details>
  );
}

export function QuestionCard({ entry, by }: { entry: Of<"question">; by: string }) {
  const { state } = useSession();
  const open = entry.answer === null && state.snapshot?.question?.question_id === entry.question_id;
  if (open) return null; // asked in full below
  // Somebody chose to go on: it is Parley that then asks how.
  return (
    <article className="card" data-testid="question-card">
      <span className="card-what">{fill(JOURNAL.asked, { by: entry.by.startsWith("user:") ? "Parley" : by })}</span>
      <Markdown text={entry.text} />
      {entry.answer !== null && (
        <div className="said said-mine">
          <p>{entry.answer}</p>
        </div>
      )}
    </article>
  );
}

export function AnswerCard({ entry }: { entry: Of<"answer"> }) {
  const { state } = useSession();
  const newest = state.events.findLast((event) => event.type === "answer.given")?.version === entry.version;
  const judged = newest ? state.snapshot?.answer : null;
  const fruitful = entry.found ? entry.found.table !== null || entry.found.whole !== null : entry.tone === "good";
  if (entry.found)
    return (
      <article className={fruitful ? "card answer" : "card"} data-testid="answer">
        <Markdown text={entry.text} />
        <Suspense fallback={entry.found.table && <div className="chart-waiting" />}>
          <Findings found={entry.found} />
        </Suspense>
        {judged && fruitful && <Judge accepted={judged.accepted} saved={judged.saved} newest={newest} />}
      </article>
    );
  return (
    <article className={fruitful ? "card answer" : "card"} data-testid="answer">
      <Markdown text={entry.text} />
      <p className="answer-foot">
        <span data-testid="confidence">{entry.confidence_text}</span>
        {entry.evidence.length > 0 && <span className="dimmed">{JOURNAL.source}</span>}
        {entry.evidence.map((id) => (
          <Source key={id} id={id} />
        ))}
      </p>
      {judged && fruitful && <Judge accepted={judged.accepted} saved={judged.saved} newest={newest} />}
    </article>
  );
}

/** An action that the answer rests on. */
function Source({ id }: { id: string }) {
  const { state } = useSession();
  const action = state.journal.get(`action:${id}`);
  return (
    <button type="button" className="chip" onClick={() => showAction(id)} data-testid="evidence">
      {action?.kind === "action" ? action.tool.replaceAll("_", " ") : id}
    </button>
  );
}

export function FailureCard({ entry }: { entry: Of<"failure"> }) {
  const { state } = useSession();
  const event = state.events[entry.version - 1];
  const reply = event?.type === "session.failed" ? event.model_reply : "";
  return (
    <article className="card card-bad" data-testid="failure-card">
      <strong>{entry.title}</strong>
      <p>{entry.reason}</p>
      {reply && (
        <details>
          <summary>{REVIEW.raw_reply}</summary>
          <pre tabIndex={0}>{reply}</pre>
        </details>
      )}
    </article>
  );
}
