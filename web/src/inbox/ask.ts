import { ASKS, named } from "../generated/words";
import type { SessionSummary } from "../net/api";
import type { ToneName } from "../ui/Tone";

/** What a waiting session wants of the person. Pure. */
export function askOf({ phase, state, unfinished }: Pick<SessionSummary, "phase" | "state" | "unfinished">): { words: string; tone: ToneName } {
  if (phase === "failed") return { words: ASKS.failed, tone: "bad" };
  if (phase === "escalated") return { words: ASKS.escalated, tone: "bad" };
  if (goesOn({ state, unfinished })) return { words: state === "approved" ? ASKS.not_started : ASKS.unfinished, tone: "wait" };
  return { words: named(ASKS, state) ?? (phase === "awaiting_input" ? ASKS.input : ASKS.approval), tone: "wait" };
}

/** Its plan did not come to its end, and nothing else is asked before it can go on. Pure. */
export function goesOn({ state, unfinished }: Pick<SessionSummary, "state" | "unfinished">): boolean {
  return unfinished && named(ASKS, state) === undefined;
}
