// Journal cards for earlier versions; the newest version is shown in full below the journal.
import { lazy } from "react";
import { useSession } from "../app/sessionContext";
import { JudgeButtons } from "../flow/JudgeButtons";
import { fill, JOURNAL, REVIEW } from "../generated/words";
import { checkMark, checkWord } from "../review/Checks";
import { questionsOf } from "../review/questionSet";
import { Badge } from "../ui/Badge";
import { LazyBoundary } from "../ui/LazyBoundary";
import { formatTime } from "../ui/format";
import { InlineText } from "../ui/InlineText";
import { Markdown } from "../ui/Markdown";
import type { Entry } from "./entries";
import { showAction } from "./showAction";
import styles from "./Cards.module.css";
import cardStyles from "./card.module.css";
import chartViewStyles from "../result/ChartView.module.css";
import messageStyles from "./message.module.css";
import typography from "../ui/typography.module.css";

const Findings = lazy(() => import("../result/DataResult"));

type EntryOfKind<K extends Entry["kind"]> = Extract<Entry, { kind: K }>;

export function PlanCard({ entry, by }: { entry: EntryOfKind<"plan">; by: string }) {
  return (
    <details className={cardStyles.card} data-testid="plan-card">
      <summary>
        <strong>{entry.title}</strong>
        <span className={cardStyles.summary}>
          {by} · {entry.summary}
        </span>
        <time dateTime={entry.at}>{formatTime(entry.at)}</time>
      </summary>
      <p>
        <InlineText text={entry.goal} />
      </p>
      <ol>
        {entry.steps.map((step, index) => (
          <li key={index}>
            <InlineText text={step.text} />
          </li>
        ))}
      </ol>
      {entry.notes && <p className={typography.dimmed}>{entry.notes}</p>}
    </details>
  );
}

export function CodeCard({ entry, by }: { entry: EntryOfKind<"code">; by: string }) {
  return (
    <details className={cardStyles.card} data-testid="code-card">
      <summary>
        <strong>{entry.title}</strong>
        <span className={cardStyles.summary}>
          {by} · {entry.summary}
        </span>
        {entry.checks?.map((check) => (
          <Badge key={check.name} tone={check.ok === null ? "plain" : check.ok ? "good" : "bad"} title={checkWord(check)}>
            {checkMark(check)} {check.name}
          </Badge>
        ))}
        <time dateTime={entry.at}>{formatTime(entry.at)}</time>
      </summary>
      <pre tabIndex={0}>{entry.code}</pre>
    </details>
  );
}

export function QuestionCard({ entry, by }: { entry: EntryOfKind<"question">; by: string }) {
  const question = useSession(({ state }) => state.snapshot?.question);
  const isOpen = entry.answer === null && question && questionsOf(question).some(({ question_id }) => question_id === entry.question_id);
  if (isOpen) return null; // shown in full below
  // If a user chose to continue, the event's author is that user, but it is Parley that asks the question.
  return (
    <article className={cardStyles.card} data-testid="question-card">
      <span className={cardStyles.summary}>{fill(JOURNAL.asked, { by: entry.by.startsWith("user:") ? "Parley" : by })}</span>
      <Markdown text={entry.text} />
      {entry.answer !== null && (
        <div className={`${messageStyles.message} ${messageStyles.mine} ${styles.ownAnswer}`}>
          <p>{entry.answer}</p>
        </div>
      )}
    </article>
  );
}

export function AnswerCard({ entry }: { entry: EntryOfKind<"answer"> }) {
  const isNewest = useSession(({ state }) => [...state.journal.values()].findLast(({ kind }) => kind === "answer")?.version === entry.version);
  const judgement = useSession(({ state }) => (isNewest ? state.snapshot?.answer : null));
  const isFruitful = entry.queryResult ? entry.queryResult.table !== null || entry.queryResult.artefact !== null : entry.tone === "good";
  if (entry.queryResult)
    return (
      <article className={isFruitful ? `${cardStyles.card} ${styles.answer}` : cardStyles.card} data-testid="answer">
        <Markdown text={entry.text} />
        <LazyBoundary fallback={entry.queryResult.table && <div className={chartViewStyles.waiting} />}>
          <Findings result={entry.queryResult} />
        </LazyBoundary>
        {judgement && isFruitful && <JudgeButtons accepted={judgement.accepted} saved={judgement.saved} isNewest={isNewest} />}
      </article>
    );
  return (
    <article className={isFruitful ? `${cardStyles.card} ${styles.answer}` : cardStyles.card} data-testid="answer">
      <Markdown text={entry.text} />
      <p className={styles.footer}>
        <span data-testid="confidence">{entry.confidence_text}</span>
        {entry.evidence.length > 0 && <span className={typography.dimmed}>{JOURNAL.source}</span>}
        {entry.evidence.map((id) => (
          <EvidenceChip key={id} id={id} />
        ))}
      </p>
      {judgement && isFruitful && <JudgeButtons accepted={judgement.accepted} saved={judgement.saved} isNewest={isNewest} />}
    </article>
  );
}

/** A link to an action that the answer is based on. */
function EvidenceChip({ id }: { id: string }) {
  const action = useSession(({ state }) => state.journal.get(`action:${id}`));
  return (
    <button type="button" className={styles.chip} onClick={() => showAction(id)} data-testid="evidence">
      {action?.kind === "action" ? action.tool.replaceAll("_", " ") : id}
    </button>
  );
}

export function FailureCard({ entry }: { entry: EntryOfKind<"failure"> }) {
  return (
    <article className={`${cardStyles.card} ${cardStyles.bad}`} data-testid="failure-card">
      <strong>{entry.title}</strong>
      <p>{entry.reason}</p>
      {entry.raw && (
        <details>
          <summary>{REVIEW.raw_reply}</summary>
          <pre tabIndex={0}>{entry.raw}</pre>
        </details>
      )}
    </article>
  );
}
