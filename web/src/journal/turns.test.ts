import { expect, it } from "vitest";
import type { SessionEvent } from "../protocol";
import { entries } from "./entries";
import { stopReport } from "./turns";

const of = (...events: object[]) =>
  entries(events.map((one, index) => ({ version: index + 1, at: "2026-01-01T00:00:00Z", actor: "user:ada", ...one }) as unknown as SessionEvent));
const spec = (id: string, more: object = {}) => ({ id, tool: "t", arguments: {}, effect: "write", depends_on: [], decision: "proceed", decision_reason: "", repairs: [], ...more });
const planned = (turn: number, ...actions: object[]) => ({ type: "turn.planned", turn, sub_goal: "Do it", actions, recalled: [] });
const turn = (...events: object[]) => {
  const found = of(...events).findLast((one) => one.kind === "turn");
  if (found?.kind !== "turn") throw new Error("there is no turn");
  return found;
};
const states = (...events: object[]) => turn(...events).actions.map((one) => one.state);
const finished = (id: string, ok = true) => ({ type: "actions.finished", outcomes: [{ action_id: id, ok, result: ok ? "r" : null, error: ok ? "" : "no", seconds: 1 }] });

it("knows from the ruling what is not run at all", () => {
  expect(states(planned(1, spec("1.1", { decision: "skip" }), spec("1.2", { decision: "deny" }), spec("1.3")))).toEqual(["skipped", "denied", "planned"]);
});

it("skips what the event says that it ends, and nothing else", () => {
  const chain = planned(1, spec("1.1"), spec("1.2", { depends_on: ["1.1"] }), spec("1.3", { depends_on: ["1.2"] }));
  const failed = { ...finished("1.1", false), ended: [{ id: "1.2", reason: "dependency_failed" }] };
  const { actions } = turn(chain, { type: "actions.started", actions: [{ action_id: "1.1" }] }, failed);
  expect(actions).toMatchObject([{ state: "failed" }, { state: "skipped", error: "an action it depends on did not finish" }, { state: "planned" }]);
});

it("tells why an action was ended, in the words that fit the event", () => {
  const why = (reason: string, event: object) => turn(planned(1, spec("1.1")), { ...event, ended: [{ id: "1.1", reason }] }).actions[0]?.error;
  expect(why("stopped", { type: "session.stopped", reason: "" })).toBe("not begun when it was stopped");
  expect(why("cancelled", { type: "plan.cancelled", plan_version: 1 })).toBe("left out: the plan was given up");
  expect(why("superseded", { type: "message.received", text: "no", intent: "feedback", knowledge: [] })).toBe("left out: you said something else");
  expect(why("superseded", { type: "plan.rejected", plan_version: 1, replan: true })).toBe("left out: something else was done instead");
});

it("shows quiet reads as started by the event that begins them, and as stopped by the stop that ends them", () => {
  const begins = { ...planned(1, spec("1.1"), spec("1.2", { depends_on: ["1.1"] })), begins: ["1.1"] };
  expect(states(begins)).toEqual(["started", "planned"]);
  const stopped = { type: "session.stopped", reason: "", ended: ["1.1", "1.2"].map((id) => ({ id, reason: "stopped" })) };
  expect(turn(begins, stopped).actions).toMatchObject([{ state: "failed", error: "Stopped by the person." }, { state: "skipped" }]);
});

it("does not run what an approval that expired denied", () => {
  const expired = { type: "approval.expired", requested_version: 1, denied: ["1.1"], ended: [{ id: "1.3", reason: "dependency_failed" }] };
  expect(states(planned(1, spec("1.1", { approval_reason: "a write" }), spec("1.2"), spec("1.3", { depends_on: ["1.1"] })), expired)).toEqual(["skipped", "planned", "skipped"]);
});

it("shows an action as the executor ruled it, in place of how it was planned", () => {
  const why = "it changes something; the plan says that it only reads";
  const rest = [spec("1.1"), spec("1.2", { approval_reason: why, decision: "require_approval" }), spec("1.3", { decision: "deny", decision_reason: "no" })];
  const ruled = { type: "turn.changed", turn: 1, actions: rest, overrides: {}, reason: "" };
  const allowed = { type: "approval.given", action_id: "1.1" };
  const { actions } = turn(planned(1, spec("1.1"), spec("1.2", { effect: "read" }), spec("1.3")), allowed, ruled);
  expect(actions).toMatchObject([{ state: "approved", decidedBy: "user:ada" }, { state: "planned", spec: { effect: "write", approval_reason: why } }, { state: "denied", error: "no" }]);
});

it("has a person's own calls as a turn of theirs", () => {
  const own = turn({ type: "turn.requested", turn: 1, sub_goal: "Mine", actions: [spec("1.1")] });
  expect(own).toMatchObject({ number: 1, by: "user:ada", subGoal: "Mine", actions: [{ state: "planned" }] });
});

it("remembers who allowed and who refused", () => {
  const { actions } = turn(planned(1, spec("1.1"), spec("1.2")), { type: "approval.given", action_id: "1.1" }, { type: "approval.denied", action_id: "1.2", reason: "keep it" });
  expect(actions).toMatchObject([
    { state: "approved", decidedBy: "user:ada" },
    { state: "denied", decidedBy: "user:ada", error: "keep it" },
  ]);
});

it("tells after a stop what happened, what may still happen, and what will not", () => {
  const stopped = [planned(1, spec("1.1"), spec("1.2"), spec("1.3")), { type: "actions.started", actions: [{ action_id: "1.1" }, { action_id: "1.2" }] }, finished("1.1"), { type: "session.stopped", reason: "", ended: [{ id: "1.3", reason: "stopped" }] }];
  const ids = (report: ReturnType<typeof stopReport>) => [report.done, report.running, report.never].map((part) => part.map((one) => one.spec.id));
  expect(ids(stopReport(turn(...stopped).actions))).toEqual([["1.1"], ["1.2"], ["1.3"]]);
  expect(ids(stopReport(turn(...stopped, finished("1.2")).actions))).toEqual([["1.1", "1.2"], [], ["1.3"]]);
});

it("does not leave actions waiting in a turn that was left", () => {
  const again = { ...planned(2, spec("2.1")), ended: [{ id: "1.1", reason: "superseded" }] };
  const all = of(planned(1, spec("1.1")), { type: "message.received", text: "no", intent: "guidance", knowledge: [] }, again);
  expect(all.filter((one) => one.kind === "turn").map((one) => one.actions[0])).toMatchObject([{ state: "skipped", error: "left out: the turn was planned again" }, { state: "planned" }]);
});

it("takes a person's word for what nobody knows", () => {
  const doubt = [planned(1, spec("1.1"), spec("1.2", { depends_on: ["1.1"] })), { type: "actions.started", actions: [{ action_id: "1.1" }] }, { type: "action.uncertain", action_id: "1.1", reason: "lost" }];
  const said = (key: string, ended: object[] = []) => states(...doubt, { type: "question.answered", question_id: "1.1", text: "in any words", key, ended });
  expect(said("happened")).toEqual(["finished", "planned"]);
  expect(said("again")).toEqual(["approved", "planned"]);
  expect(said("leave", [{ id: "1.2", reason: "dependency_failed" }])).toEqual(["uncertain", "skipped"]);
});

it("has no doubt about a read of which nobody knows", () => {
  const look = [planned(1, spec("1.1", { effect: "read" })), { type: "actions.started", actions: [{ action_id: "1.1" }] }];
  expect(states(...look, { type: "action.uncertain", action_id: "1.1", reason: "lost" })).toEqual(["failed"]);
});

it("tells an outcome before all of its result is stored, or lost", () => {
  const known = [planned(1, spec("1.1")), { type: "actions.started", actions: [{ action_id: "1.1" }] }, finished("1.1")];
  const artefact = { name: "s/1/1.1/1", size: 60_000, sha256: "" };
  expect(turn(...known).actions).toMatchObject([{ state: "finished", result: "r", artefact: null }]);
  expect(turn(...known, { type: "result.stored", action_id: "1.1", artefact }).actions).toMatchObject([{ state: "finished", artefact, error: "" }]);
  expect(turn(...known, { type: "result.lost", action_id: "1.1", reason: "no room" }).actions).toMatchObject([{ state: "finished", artefact: null, error: "no room" }]);
});

it("names the tools that an answer rests on", () => {
  const all = of(planned(1, spec("1.1", { tool: "look" })), { type: "answer.given", text: "a", confidence: 0.8, evidence: ["1.1", "9.9"] });
  expect(all.at(-1)).toMatchObject({
    evidence: [
      { id: "1.1", tool: "look" },
      { id: "9.9", tool: "" },
    ],
  });
});
