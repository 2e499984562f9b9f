import { expect, it } from "vitest";
import type { ActionEntry, TurnEntry } from "../journal/entries";
import { drawn, drawnTurn } from "../journal/testEntries";
import { foundBy } from "./found";
import { NODE, lineOf, placed } from "./layout";
import { saying } from "./NodeLine";
import { FLOW } from "./testFlow";
import { currentOf, flowsOf, inputsOf, walkOf } from "./walk";

const PATH = ["sql.look", "sql.write", "sql.run", "sql.tell"];
const action = (id: string, node: string, more: Partial<ActionEntry> = {}) => drawn(id, `sql.${node}`, more);
const done = (id: string, node: string, result: unknown = {}, more: Partial<ActionEntry> = {}) => action(id, node, { state: "finished", result, seconds: 0.5, ...more });
const rest = (...nodes: string[]) => nodes.map((node, at) => action(`1.${at + 8}`, node));
const turn = (actions: ActionEntry[], ...changes: string[]) => drawnTurn(PATH, actions, changes);
const states = (entry: TurnEntry) => walkOf(FLOW, entry).nodes.map((one) => one.state);
const edges = (entry: TurnEntry) => Object.fromEntries(walkOf(FLOW, entry).edges.map((one) => [`${one.from.slice(4)} ${one.to.slice(4)}`, one.state]));

it("shows the planned path, the walked one and where it is", () => {
  const going = turn([done("1.1", "look"), ...rest("write", "run", "tell")]);
  expect(states(going)).toEqual(["walked", "now", "planned", "planned"]);
  expect(edges(going)).toEqual({ "look write": "planned", "look tell": "out", "write run": "planned", "run tell": "planned", "run write": "out" });
  expect(edges(turn([done("1.1", "look"), done("1.2", "write"), ...rest("run", "tell")]))["look write"]).toBe("walked");
});

it("shows what a condition left out, and why", () => {
  const left = turn([done("1.1", "look"), done("1.5", "tell")], 'look: kind == "none"');
  expect(states(left)).toEqual(["walked", "out", "out", "walked"]);
  const [look, write] = walkOf(FLOW, left).nodes;
  expect(look?.left).toBe('kind == "none"');
  expect(write).toMatchObject({ planned: true, left: "" });
  expect(edges(left)).toMatchObject({ "look write": "left", "look tell": "walked" });
});

it("takes no new inputs of the same node for another way", () => {
  const asked = action("1.5", "write");
  const shown = turn([done("1.1", "look"), { ...asked, spec: { ...asked.spec, approval_reason: "look first" } }, action("1.6", "run")], "write runs with what is known now");
  expect(walkOf(FLOW, shown).nodes.map((one) => one.left)).toEqual(["", "", "", ""]);
  expect(walkOf(FLOW, shown).nodes[1]).toMatchObject({ state: "now", waits: true });
});

it("counts the time and tokens of every time a node ran", () => {
  const twice = turn([done("1.1", "look"), done("1.2", "write"), done("1.5", "write", {}, { tokens: 120 }), action("1.6", "run")]);
  const write = walkOf(FLOW, twice).nodes[1];
  expect(write).toMatchObject({ seconds: 1, tokens: 120 });
  expect(write && saying(write)).toBe("1.00 s · 120 tokens · 2 times");
});

it("tells a node's inputs and where they come from", () => {
  const beginning = { request: "how many?", before: [done("1.2", "write", { question: "and before?" })] };
  const going = turn([done("1.1", "look", { kind: "data" }), done("1.2", "write", { sql: "SELECT 1" }), action("1.3", "run")]);
  const of = (name: string, at: number) => inputsOf(FLOW.nodes.find((one) => one.name === name)!, FLOW, going, going.actions[at], beginning);
  expect(of("run", 2)).toEqual([{ name: "sql", value: "SELECT 1", from: "write", optional: false }]);
  expect(of("write", 1)).toEqual([
    { name: "request", value: "how many?", from: "you", optional: false },
    { name: "previous_question", value: "and before?", from: "the request before", optional: true },
  ]);
});

it("takes what a person set on the way", () => {
  const set = turn([done("1.1", "look"), done("1.5", "person", { sql: "SELECT 2" }), action("1.6", "run")]);
  expect(inputsOf(FLOW.nodes[2]!, FLOW, set, set.actions[2], { request: "", before: [] })[0]).toMatchObject({ value: "SELECT 2", from: "you" });
  expect(flowsOf(set)).toEqual(["sql"]);
});

it("is at the action that asks", () => {
  expect(currentOf([done("1.1", "look"), action("1.2", "write", { state: "asked" })])?.state).toBe("asked");
});

it("finds the result", () => {
  const table = { columns: ["n"], types: ["INTEGER"], rows: [[1]], truncated: false, seconds: 0.1 };
  const found = foundBy([done("1.2", "write", { sql: "SELECT 1" }), done("1.3", "run", { result: table, problem: "" }), done("1.4", "tell", { answer: "1", chart: "bar" })]);
  expect(found).toMatchObject({ sql: "SELECT 1", chart: "bar", table, flows: ["sql"] });
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
