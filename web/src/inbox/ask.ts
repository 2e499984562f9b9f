import type { SessionSummary } from "../net/api";
import type { ToneName } from "../ui/Tone";

const STATES: Record<string, string> = {
  action_approval: "actions to approve",
  text_plan_approval: "a plan to approve",
  code_approval: "code to approve",
  text_plan_feedback: "what to change in the plan?",
  code_feedback: "what to change in the code?",
  question: "a question to you",
};

/** What a waiting session wants of the person. Pure. */
export function askOf({ phase, state }: Pick<SessionSummary, "phase" | "state">): { words: string; tone: ToneName } {
  if (phase === "failed") return { words: "failed", tone: "bad" };
  if (phase === "escalated") return { words: "take over", tone: "bad" };
  return { words: STATES[state] ?? (phase === "awaiting_input" ? "a question to you" : "an approval"), tone: "wait" };
}
