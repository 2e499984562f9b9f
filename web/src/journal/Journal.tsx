// What has happened, in order. Screen readers hear what is added.
import { lazy, memo, Suspense } from "react";
import { useNameOf, useSession } from "../app/session";
import { fill, JOURNAL, PAGE } from "../generated/words";
import type { Entry } from "./entries";
import { useEntries } from "./useEntries";
import { AnswerCard, CodeCard, FailureCard, PlanCard, QuestionCard } from "./Cards";
import { clock } from "../ui/format";
import { Markdown } from "../ui/Markdown";

const TurnCard = lazy(() => import("./TurnCard"));
const FlowCard = lazy(() => import("../flow/FlowCard"));
const SAID: ReadonlySet<string> = new Set(["user_message", "feedback", "answer", "hand_back"]);

export function Journal() {
  const { state, pending } = useSession();
  const all = useEntries();
  // A failure that still stands is shown below, with what can be done about it.
  const standing = state.snapshot?.failure ? all.findLast((one) => one.kind === "failure") : null;
  const told = all.map((entry) => entry !== standing && <Shown key={entry.key} entry={entry} />);
  const unsent = pending.filter((one) => SAID.has(one.command.type) && (state.sessionId === null || one.sessionId === state.sessionId));
  return (
    <div className="journal" role="log" aria-label={PAGE.conversation} data-testid="journal">
      {told}
      {unsent.map((one) => (
        <div key={one.id} className="said said-mine said-unsent">
          <p>{"content" in one.command ? one.command.content : ""}</p>
          <span className="said-meta">{JOURNAL.sending}</span>
        </div>
      ))}
    </div>
  );
}

// An entry is the same as before unless its own content changed: a long journal is not drawn again for every event.
const Shown = memo(ShownEntry, (a, b) => JSON.stringify(a.entry) === JSON.stringify(b.entry));

function ShownEntry({ entry }: { entry: Entry }) {
  const nameOf = useNameOf();
  const by = nameOf(entry.by);
  switch (entry.kind) {
    case "said":
      return (
        <article className={`said ${by === JOURNAL.you ? "said-mine" : ""}`} data-testid="said" aria-label={`${by}, ${clock(entry.at)}`}>
          {entry.label && <span className="said-intent">{entry.label}</span>}
          <p>{entry.text}</p>
          {entry.knowledge.length > 0 && <span className="said-meta">{fill(JOURNAL.with, { names: entry.knowledge.join(", ") })}</span>}
        </article>
      );
    case "reply":
      return (
        <article className="said" data-testid="reply" aria-label={`${by}, ${clock(entry.at)}`}>
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
        <Suspense fallback={<div className="card turn-waiting" />}>
          {entry.path ? <FlowCard entry={entry} /> : <TurnCard entry={entry} by={by} byPerson={entry.by.startsWith("user:")} />}
        </Suspense>
      );
    case "answer":
      return <AnswerCard entry={entry} />;
    case "failure":
      return <FailureCard entry={entry} />;
    case "note":
      return (
        <p className="note" data-tone={entry.tone} data-testid="note">
          <span className="note-dot" aria-hidden="true" />
          {entry.by ? `${by} ${entry.text}` : entry.text} <time dateTime={entry.at}>{clock(entry.at)}</time>
        </p>
      );
  }
}
