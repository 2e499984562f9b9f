import { expect, it } from "vitest";
import { ASKS } from "../generated/words";
import { askOf } from "./ask";

it("says what a session wants", () => {
  expect(askOf({ phase: "awaiting_approval", state: "action_approval" })).toEqual({ words: ASKS.action_approval, tone: "wait" });
  expect(askOf({ phase: "awaiting_input", state: "question" }).words).toBe(ASKS.question);
  expect(askOf({ phase: "awaiting_input", state: "of_tomorrow" }).words).toBe(ASKS.question);
  expect(askOf({ phase: "escalated", state: "escalated" })).toEqual({ words: ASKS.escalated, tone: "bad" });
  expect(askOf({ phase: "failed", state: "failed" }).words).toBe(ASKS.failed);
});
