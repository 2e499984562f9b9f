import { expect, it } from "vitest";
import type { SessionEvent } from "../protocol";
import { entries } from "./entries";

const of = (...events: object[]) =>
  entries(events.map((one, index) => ({ version: index + 1, at: "2026-01-01T00:00:00Z", actor: "user:ada", ...one }) as unknown as SessionEvent));

it("tells of a plan, its approval and its code with the checks", () => {
  const all = of(
    { type: "message.received", text: "please", intent: "request", knowledge: [] },
    { type: "plan.drafted", goal: "g", steps: [], notes: "" },
    { type: "usage.recorded" },
    { type: "plan.approved", plan_version: 2, turn: null, actions: [] },
    { type: "code.drafted", code: "x", explanation: "" },
    { type: "code.verified", code_version: 5, checks: [{ name: "tests", ok: false, detail: "" }], tests: "" },
  );
  expect(all.map((one) => one.kind)).toEqual(["said", "plan", "note", "code"]);
  expect(all[2]).toMatchObject({ text: "approved plan 1", tone: "good" });
  expect(all[3]).toMatchObject({ number: 1, checks: [{ name: "tests", ok: false }] });
});

it("makes one entry of a run, from its plan to its verdict", () => {
  const all = of(
    { type: "turn.requested", turn: 1, sub_goal: "Run", actions: [{ id: "1.1", tool: "run_code" }] },
    { type: "actions.started", actions: [{ action_id: "1.1" }] },
    { type: "actions.finished", outcomes: [{ action_id: "1.1", ok: true, result: { stdout: "3" }, error: "", seconds: 0.1 }] },
    { type: "turn.verified", turn: 1, status: "success", reasoning: "fine" },
  );
  expect(all).toMatchObject([{ kind: "turn", actions: [{ state: "finished", result: { stdout: "3" } }], verdict: { status: "success" } }]);
});

it("gives a question its answer", () => {
  const all = of({ type: "question.asked", action_id: "q", text: "which?", options: [] }, { type: "question.answered", action_id: "q", text: "this" });
  expect(all).toMatchObject([{ kind: "question", answer: "this" }]);
});

it("does not change what it has told before", () => {
  const first = [{ type: "turn.planned", turn: 1, sub_goal: "Run", actions: [{ id: "1.1", tool: "t" }] }];
  const before = of(...first);
  of(...first, { type: "actions.started", actions: [{ action_id: "1.1" }] });
  expect(before).toMatchObject([{ actions: [{ state: "planned" }] }]);
});
