// The session's history. Screen readers announce new entries.
import { lazy, memo } from "react";
import { useDisplayName, useSession } from "../app/sessionContext";
import { fill, JOURNAL, PAGE } from "../generated/words";
import { LazyBoundary } from "../ui/LazyBoundary";
import { formatTime } from "../ui/format";
import { Markdown } from "../ui/Markdown";
import { AnswerCard, CodeCard, FailureCard, PlanCard, QuestionCard } from "./Cards";
import type { Entry } from "./entries";
import { useEntries } from "./useEntries";
import styles from "./Journal.module.css";
import cardStyles from "./card.module.css";
import messageStyles from "./message.module.css";

const TurnCard = lazy(() => import("./TurnCard"));
const FlowCard = lazy(() => import("../flow/FlowCard"));
const TEXT_COMMANDS: ReadonlySet<string> = new Set(["user_message", "feedback", "answer", "hand_back"]);

export function Journal() {
  const hasFailed = useSession(({ state }) => !!state.snapshot?.failure);
  const unsent = useSession(({ state: { sessionId }, pending }) => pending.filter((item) => TEXT_COMMANDS.has(item.command.type) && (sessionId === null || item.sessionId === sessionId)));
  const entries = useEntries();
  // A current failure is shown below the journal, with the actions that can fix it.
  const currentFailure = hasFailed ? entries.findLast((entry) => entry.kind === "failure") : null;
  const views = entries.map((entry) => entry !== currentFailure && <EntryView key={entry.key} entry={entry} />);
  return (
    <div className={styles.journal} role="log" aria-label={PAGE.conversation} data-testid="journal">
      {views}
      {unsent.map((item) => (
        <div key={item.id} className={`${messageStyles.message} ${messageStyles.mine} ${messageStyles.unsent}`}>
          <p>{"content" in item.command ? item.command.content : ""}</p>
          <span className={messageStyles.meta}>{JOURNAL.sending}</span>
        </div>
      ))}
    </div>
  );
}

// Renders an entry again only if its own content changed, not for every event.
const EntryView = memo(EntryContent, (a, b) => JSON.stringify(a.entry) === JSON.stringify(b.entry));

function EntryContent({ entry }: { entry: Entry }) {
  const displayName = useDisplayName();
  const by = displayName(entry.by);
  switch (entry.kind) {
    case "said":
      return (
        <article className={`${messageStyles.message} ${by === JOURNAL.you ? messageStyles.mine : ""}`} data-testid="said" aria-label={`${by}, ${formatTime(entry.at)}`}>
          {entry.label && <span className={messageStyles.intent}>{entry.label}</span>}
          <p>{entry.text}</p>
          {entry.knowledge.length > 0 && <span className={messageStyles.meta}>{fill(JOURNAL.with, { names: entry.knowledge.join(", ") })}</span>}
        </article>
      );
    case "reply":
      return (
        <article className={messageStyles.message} data-testid="reply" aria-label={`${by}, ${formatTime(entry.at)}`}>
          <Markdown text={entry.text} />
        </article>
      );
    case "plan":
      return <PlanCard entry={entry} by={by} />;
    case "code":
      return <CodeCard entry={entry} by={by} />;
    case "question":
      return <QuestionCard entry={entry} by={by} />;
    case "turn":
      return (
        <LazyBoundary fallback={<div className={`${cardStyles.card} ${styles.turnWaiting}`} />}>
          {entry.path ? <FlowCard entry={entry} /> : <TurnCard entry={entry} by={by} byPerson={entry.by.startsWith("user:")} />}
        </LazyBoundary>
      );
    case "answer":
      return <AnswerCard entry={entry} />;
    case "failure":
      return <FailureCard entry={entry} />;
    case "note":
    case "decision":
      return (
        <p className={styles.note} data-tone={entry.tone} data-testid="note">
          <span className={styles.dot} aria-hidden="true" />
          {entry.by ? `${by} ${entry.text}` : entry.text} <time dateTime={entry.at}>{formatTime(entry.at)}</time>
        </p>
      );
  }
}
