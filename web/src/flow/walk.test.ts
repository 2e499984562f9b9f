import { expect, it } from "vitest";
import { entries, type TurnEntry } from "../journal/entries";
import type { SessionEvent } from "../protocol";
import { NODE, lineOf, placed } from "./layout";
import { saying } from "./NodeLine";
import { FLOW } from "./testFlow";
import { currentOf, flowsOf, inputsOf, standingOf, walkOf } from "./walk";

const SPEC = { arguments: {}, effect: "read", approval_reason: null, policy: null, repairs: [], decision: "proceed", decision_reason: "", description: "" };
const spec = (id: string, node: string, more: object = {}) => ({ ...SPEC, id, tool: `sql.${node}`, depends_on: [], ...more });
const path = (...nodes: string[]) => ({ nodes: nodes.map((one) => `sql.${one}`), fallback: false, fallback_reason: "", cached: false, attempts: 1, examples: 0, proposal: null });
const all = (...events: object[]) => entries(events.map((one, index) => ({ version: index + 1, at: "2026-01-01T00:00:00Z", actor: "executor", ...one }) as unknown as SessionEvent));
const turn = (...events: object[]): TurnEntry => {
  const found = all(...events).findLast((one) => one.kind === "turn");
  if (found?.kind !== "turn") throw new Error("there is no turn");
  return found;
};
const planned = { type: "turn.planned", turn: 1, sub_goal: "Walk", recalled: [], path: path("look", "write", "run", "tell"), actions: ["look", "write", "run", "tell"].map((one, index) => spec(`1.${index + 1}`, one)) };
const ran = (id: string, result: object = {}) => [
  { type: "actions.started", actions: [{ action_id: id }] },
  { type: "actions.finished", outcomes: [{ action_id: id, ok: true, result, error: "", seconds: 0.5 }] },
];
const changed = (reason: string, overrides: object, ...actions: object[]) => ({ type: "turn.changed", turn: 1, actions, overrides, reason });
const states = (entry: TurnEntry) => walkOf(FLOW, entry).nodes.map((one) => one.state);
const edges = (entry: TurnEntry) => Object.fromEntries(walkOf(FLOW, entry).edges.map((one) => [`${one.from.slice(4)} ${one.to.slice(4)}`, one.state]));

it("shows the planned path, the walked one and where it is", () => {
  const going = turn(planned, ...ran("1.1", { kind: "data" }));
  expect(states(going)).toEqual(["walked", "now", "planned", "planned"]);
  expect(edges(going)).toEqual({ "look write": "planned", "look tell": "out", "write run": "planned", "run tell": "planned", "run write": "out" });
  expect(edges(turn(planned, ...ran("1.1"), ...ran("1.2")))["look write"]).toBe("walked");
});

it("shows what a condition left out, and why", () => {
  const left = turn(planned, ...ran("1.1", { kind: "none" }), changed('look: kind == "none"', {}, spec("1.5", "tell")), ...ran("1.5", { answer: "no" }));
  expect(states(left)).toEqual(["walked", "out", "out", "walked"]);
  const [look, write] = walkOf(FLOW, left).nodes;
  expect(look?.left).toBe('kind == "none"');
  expect(write).toMatchObject({ planned: true, left: "" });
  expect(edges(left)).toMatchObject({ "look write": "left", "look tell": "walked" });
});

it("takes no new inputs of the same node for another way", () => {
  const shown = turn(planned, ...ran("1.1"), changed("write runs with what is known now", {}, spec("1.5", "write", { approval_reason: "look first" }), spec("1.6", "run")));
  expect(walkOf(FLOW, shown).nodes.map((one) => one.left)).toEqual(["", "", "", ""]);
  expect(walkOf(FLOW, shown).nodes[1]).toMatchObject({ state: "now", waits: true });
});

it("counts the time and tokens of every time a node ran", () => {
  const twice = turn(planned, ...ran("1.1"), ...ran("1.2"), changed("", {}, spec("1.5", "write"), spec("1.6", "run")), ...ran("1.5"), {
    type: "usage.recorded",
    usage: [
      { action_id: "1.5", prompt_tokens: 90, completion_tokens: 8 },
      { action_id: "1.5", prompt_tokens: 10, completion_tokens: 12 },
      { action_id: "", prompt_tokens: 1000, completion_tokens: 1000 },
    ],
  });
  const write = walkOf(FLOW, twice).nodes[1];
  expect(write).toMatchObject({ seconds: 1, tokens: 120 });
  expect(write && saying(write)).toBe("1.00 s · 120 tokens · 2 times");
});

it("tells a node's inputs and where they come from", () => {
  const beginning = { request: "how many?", before: turn(planned, ...ran("1.2", { question: "and before?" })).actions };
  const going = turn(planned, ...ran("1.1", { kind: "data" }), ...ran("1.2", { sql: "SELECT 1" }));
  const of = (name: string, at: number) => inputsOf(FLOW.nodes.find((one) => one.name === name)!, FLOW, going, going.actions[at], beginning);
  expect(of("run", 2)).toEqual([{ name: "sql", value: "SELECT 1", from: "write", optional: false }]);
  expect(of("write", 1)).toEqual([
    { name: "request", value: "how many?", from: "you", optional: false },
    { name: "previous_question", value: "and before?", from: "the request before", optional: true },
  ]);
});

it("takes what a person set on the way", () => {
  const set = turn(planned, ...ran("1.1"), { ...changed("", { sql: "SELECT 2" }, spec("1.6", "run")), actor: "user:ada" });
  expect(set.actions.map((one) => [one.spec.id, one.spec.tool, one.state])).toEqual([
    ["1.1", "sql.look", "finished"],
    ["1.5", "sql.person", "finished"],
    ["1.6", "sql.run", "planned"],
  ]);
  expect(inputsOf(FLOW.nodes[2]!, FLOW, set, set.actions[2], { request: "", before: [] })[0]).toMatchObject({ value: "SELECT 2", from: "you" });
  expect(flowsOf(set)).toEqual(["sql"]);
});

it("takes an answer in before the node ends", () => {
  const asked = turn(planned, { type: "question.asked", kind: "action", question_id: "1.1", text: "?", options: [], form: null });
  expect(currentOf(asked.actions)?.state).toBe("asked");
  const answered = turn(planned, { type: "question.asked", kind: "action", question_id: "1.1", text: "?", options: [], form: null }, { type: "question.answered", question_id: "1.1", text: "yes" });
  expect(answered.actions[0]).toMatchObject({ state: "approved", result: "yes" });
});

it("takes the turn of an approved path from the approval", () => {
  const steps = ["look", "tell"].map((one) => ({ text: one, tool: `sql.${one}`, arguments: null }));
  const drafted = { type: "plan.drafted", kind: "path", goal: "Walk", steps, notes: "", path: path("look", "write") };
  const edited = { type: "plan.edited", base_version: 1, goal: "Walk", steps, notes: "", actor: "user:ada" };
  const actions = ["look", "tell"].map((one, at) => ({ id: `4.${at + 1}`, tool: `sql.${one}`, description: "", arguments: {}, effect: "read", depends_on: [], approval_reason: null, decision: "proceed", decision_reason: "" }));
  const walked = turn(drafted, edited, { type: "plan.approved", plan_version: 2, hash: "", turn: 4, actions }, ...ran("4.1"));
  expect(walked).toMatchObject({ by: "user:ada", number: 4, subGoal: "Walk", made: 2, path: { nodes: ["sql.look", "sql.tell"] } });
  expect(states(walked)).toEqual(["walked", "out", "out", "now"]);
});

it("finds the result, and what became of the answer", () => {
  const table = { columns: ["n"], types: ["INTEGER"], rows: [[1]], truncated: false, seconds: 0.1 };
  const told = all(planned, ...ran("1.2", { sql: "SELECT 1" }), ...ran("1.3", { result: table, problem: "" }), ...ran("1.4", { answer: "1", chart: "bar" }), { type: "answer.given", text: "1", confidence: 1, evidence: [] }, { type: "answer.judged", accepted: true, saved: false });
  expect(told.at(-1)).toMatchObject({ kind: "answer", accepted: true, saved: false, found: { sql: "SELECT 1", chart: "bar", table, flows: ["sql"] } });
});

it("names the last action that has begun", () => {
  const action = (action_id: string, tool: string, status: string, result: unknown = null) => ({ action_id, tool, status, result });
  expect(standingOf([action("1.1", "sql.look", "finished", { kind: "data" }), action("1.2", "sql.person", "finished", { sql: "x" }), action("1.3", "sql.run", "planned")])).toEqual({ id: "1.2", tool: "sql.look", have: ["kind", "sql"] });
  expect(standingOf([action("1.1", "sql.look", "planned")])).toEqual({ id: "", tool: "", have: [] });
});

it("lays every node out apart from the others, and its edges within the box", () => {
  const { at, ways, left, top, width, height } = placed(FLOW);
  const corners = [...at.values()];
  expect(corners).toHaveLength(4);
  for (const [index, a] of corners.entries()) for (const b of corners.slice(index + 1)) expect(Math.abs(a.x - b.x) >= NODE.width || Math.abs(a.y - b.y) >= NODE.height).toBe(true);
  for (const point of [...ways.values()].flat()) {
    expect(point.x).toBeGreaterThanOrEqual(left);
    expect(point.x).toBeLessThanOrEqual(left + width);
    expect(point.y).toBeGreaterThanOrEqual(top);
    expect(point.y).toBeLessThanOrEqual(top + height);
  }
  expect(lineOf([{ x: 0, y: 0 }, { x: 0, y: 10 }])).toMatchObject({ line: "M 0 0 L 0 10", angle: 90 });
});
