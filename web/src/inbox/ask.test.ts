import { expect, it } from "vitest";
import { ASKS } from "../generated/words";
import { askOf } from "./ask";

it("says what a session wants", () => {
  expect(askOf({ phase: "awaiting_approval", state: "action_approval", unfinished: false })).toEqual({ words: ASKS.action_approval, tone: "wait" });
  expect(askOf({ phase: "awaiting_input", state: "question", unfinished: false }).words).toBe(ASKS.question);
  expect(askOf({ phase: "awaiting_input", state: "of_tomorrow", unfinished: false }).words).toBe(ASKS.question);
  expect(askOf({ phase: "escalated", state: "escalated", unfinished: false })).toEqual({ words: ASKS.escalated, tone: "bad" });
  expect(askOf({ phase: "failed", state: "failed", unfinished: false }).words).toBe(ASKS.failed);
  expect(askOf({ phase: "awaiting_approval", state: "action_approval", unfinished: true }).words).toBe(ASKS.action_approval);
  expect(askOf({ phase: "resting", state: "completed", unfinished: true })).toEqual({ words: ASKS.unfinished, tone: "wait" });
  expect(askOf({ phase: "resting", state: "approved", unfinished: true })).toEqual({ words: ASKS.not_started, tone: "wait" });
});
