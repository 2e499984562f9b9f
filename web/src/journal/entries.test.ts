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

it("tells of a remark and its reply, and leaves what is in review as it is", () => {
  const planned = { type: "turn.planned", turn: 1, sub_goal: "g", actions: [{ id: "1.1", tool: "x" }], sub_goals: [], required_skills: [], recalled: [] };
  const all = of(planned, { type: "message.received", text: "why?", intent: "remark", knowledge: [] }, { type: "remark.answered", text: "Because." });
  expect(all).toMatchObject([{ kind: "turn", actions: [{ state: "planned" }] }, { kind: "said", intent: "remark" }, { kind: "reply", text: "Because." }]);
});

it("takes a remark that began a round for the request that it was", () => {
  const all = of({ type: "message.received", text: "another", intent: "remark", knowledge: [] }, { type: "plan.drafted", goal: "g", steps: [], notes: "", begins_round: true });
  expect(all[0]).toMatchObject({ kind: "said", intent: "request" });
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
  const all = of({ type: "question.asked", question_id: "q", text: "which?", options: [] }, { type: "question.answered", question_id: "q", text: "this" });
  expect(all).toMatchObject([{ kind: "question", answer: "this" }]);
});

it("does not change what it has told before", () => {
  const first = [{ type: "turn.planned", turn: 1, sub_goal: "Run", actions: [{ id: "1.1", tool: "t" }] }];
  const before = of(...first);
  of(...first, { type: "actions.started", actions: [{ action_id: "1.1" }] });
  expect(before).toMatchObject([{ actions: [{ state: "planned" }] }]);
});
