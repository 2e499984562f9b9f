import { expect, it } from "vitest";
import { askOf } from "./ask";

it("says what a session wants", () => {
  expect(askOf({ phase: "awaiting_approval", state: "action_approval" })).toEqual({ words: "actions to approve", tone: "wait" });
  expect(askOf({ phase: "awaiting_input", state: "question" }).words).toBe("a question to you");
  expect(askOf({ phase: "awaiting_input", state: "of_tomorrow" }).words).toBe("a question to you");
  expect(askOf({ phase: "escalated", state: "escalated" })).toEqual({ words: "take over", tone: "bad" });
  expect(askOf({ phase: "failed", state: "failed" }).words).toBe("failed");
});
