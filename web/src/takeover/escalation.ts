import type { SessionEvent } from "../protocol";

/** Why a person was asked to take over, and whether they have acted since. Pure. */
export function escalation(events: readonly SessionEvent[]): { why: string; mine: boolean } {
  let mine = false;
  for (const event of events.toReversed()) {
    if (event.type === "turn.verified" && event.next_action === "escalate" && !mine) return { why: event.reasoning, mine };
    if (event.type === "turn.planned") return { why: whyOf(events, event.turn), mine };
    if (event.type === "turn.requested") mine = true;
    if (event.type === "message.received") break;
  }
  return { why: "", mine };
}

/** What was said of the turn that a person's own turns came after. */
function whyOf(events: readonly SessionEvent[], turn: number): string {
  const verdict = events.findLast((event) => event.type === "turn.verified" && event.turn === turn);
  return verdict?.type === "turn.verified" ? verdict.reasoning : "";
}
