import { ASKS, wordFor } from "../words";
import type { SessionSummary } from "../net/api";
import type { Tone } from "../ui/Badge";

/** What a waiting session needs from the user. Pure. */
export function attentionOf({ phase, state, unfinished }: Pick<SessionSummary, "phase" | "state" | "unfinished">): { words: string; tone: Tone } {
  if (phase === "failed") return { words: ASKS.failed, tone: "bad" };
  if (phase === "escalated") return { words: ASKS.escalated, tone: "bad" };
  if (canResume({ state, unfinished })) return { words: state === "approved" ? ASKS.not_started : ASKS.unfinished, tone: "wait" };
  return { words: wordFor(ASKS, state) ?? (phase === "awaiting_input" ? ASKS.input : ASKS.approval), tone: "wait" };
}

/** Whether the session's unfinished plan can be resumed without any other decision. Pure. */
export function canResume({ state, unfinished }: Pick<SessionSummary, "state" | "unfinished">): boolean {
  return unfinished && wordFor(ASKS, state) === undefined;
}
