import { ASKS, named } from "../generated/words";
import type { SessionSummary } from "../net/api";
import type { ToneName } from "../ui/Tone";

/** What a waiting session wants of the person. Pure. */
export function askOf({ phase, state }: Pick<SessionSummary, "phase" | "state">): { words: string; tone: ToneName } {
  if (phase === "failed") return { words: ASKS.failed, tone: "bad" };
  if (phase === "escalated") return { words: ASKS.escalated, tone: "bad" };
  return { words: named(ASKS, state) ?? (phase === "awaiting_input" ? ASKS.input : ASKS.approval), tone: "wait" };
}
