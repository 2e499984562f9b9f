import { expect, it } from "vitest";
import { ASKS } from "../words";
import { attentionOf } from "./attention";

it("describes what each kind of waiting session needs from the user", () => {
  expect(attentionOf({ phase: "awaiting_approval", state: "action_approval", unfinished: false })).toEqual({ words: ASKS.action_approval, tone: "wait" });
  expect(attentionOf({ phase: "awaiting_input", state: "question", unfinished: false }).words).toBe(ASKS.question);
  expect(attentionOf({ phase: "awaiting_input", state: "unknown_state", unfinished: false }).words).toBe(ASKS.question);
  expect(attentionOf({ phase: "executing", state: "offer", unfinished: false })).toEqual({ words: ASKS.offer, tone: "wait" });
  expect(attentionOf({ phase: "escalated", state: "escalated", unfinished: false })).toEqual({ words: ASKS.escalated, tone: "bad" });
  expect(attentionOf({ phase: "failed", state: "failed", unfinished: false }).words).toBe(ASKS.failed);
  expect(attentionOf({ phase: "awaiting_approval", state: "action_approval", unfinished: true }).words).toBe(ASKS.action_approval);
  expect(attentionOf({ phase: "resting", state: "completed", unfinished: true })).toEqual({ words: ASKS.unfinished, tone: "wait" });
  expect(attentionOf({ phase: "resting", state: "approved", unfinished: true })).toEqual({ words: ASKS.not_started, tone: "wait" });
});
