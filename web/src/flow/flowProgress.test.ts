import { expect, it } from "vitest";
import type { ActionEntry, TurnEntry } from "../journal/entries";
import { shownAction, turnWithPath } from "../journal/testEntries";
import { currentAction, flowNames, flowProgress, nodeInputs } from "./flowProgress";
import { layoutFlow, NODE_SIZE, roundedLine } from "./layout";
import { nodeStatusText } from "./NodeButton";
import { queryResultOf } from "./queryResult";
import { FLOW } from "./testFlow";

const PATH = ["sql.look", "sql.write", "sql.run", "sql.tell"];
const action = (id: string, node: string, overrides: Partial<ActionEntry> = {}) => shownAction(id, `sql.${node}`, overrides);
const finished = (id: string, node: string, result: unknown = {}, overrides: Partial<ActionEntry> = {}) => action(id, node, { state: "finished", result, seconds: 0.5, ...overrides });
const plannedActions = (...nodes: string[]) => nodes.map((node, index) => action(`1.${index + 8}`, node));
const turn = (actions: ActionEntry[], ...changes: string[]) => turnWithPath(PATH, actions, changes);
const states = (entry: TurnEntry) => flowProgress(FLOW, entry).nodes.map((node) => node.state);
const edges = (entry: TurnEntry) => Object.fromEntries(flowProgress(FLOW, entry).edges.map((edge) => [`${edge.from.slice(4)} ${edge.to.slice(4)}`, edge.state]));

it("shows the nodes that ran, the current node and the planned nodes", () => {
  const ongoing = turn([finished("1.1", "look"), ...plannedActions("write", "run", "tell")]);
  expect(states(ongoing)).toEqual(["walked", "now", "planned", "planned"]);
  expect(edges(ongoing)).toEqual({ "look write": "planned", "look tell": "out", "write run": "planned", "run tell": "planned", "run write": "out" });
  expect(edges(turn([finished("1.1", "look"), finished("1.2", "write"), ...plannedActions("run", "tell")]))["look write"]).toBe("walked");
});

it("shows which nodes a condition skipped, and why", () => {
  const exited = turn([finished("1.1", "look"), finished("1.5", "tell")], 'look: kind == "none"');
  expect(states(exited)).toEqual(["walked", "out", "out", "walked"]);
  const [look, write] = flowProgress(FLOW, exited).nodes;
  expect(look?.exitReason).toBe('kind == "none"');
  expect(write).toMatchObject({ isPlanned: true, exitReason: "" });
  expect(edges(exited)).toMatchObject({ "look write": "left", "look tell": "walked" });
});

it("does not report a node's changed inputs as a reason why the path left the plan", () => {
  const current = action("1.5", "write");
  const changed = turn([finished("1.1", "look"), { ...current, approval: "look first" }, action("1.6", "run")], "write runs with what is known now");
  expect(flowProgress(FLOW, changed).nodes.map((node) => node.exitReason)).toEqual(["", "", "", ""]);
  expect(flowProgress(FLOW, changed).nodes[1]).toMatchObject({ state: "now", needsUser: true });
});

it("sums time and tokens over all runs of a node", () => {
  const withTwoRuns = turn([finished("1.1", "look"), finished("1.2", "write"), finished("1.5", "write", {}, { tokens: 120 }), action("1.6", "run")]);
  const write = flowProgress(FLOW, withTwoRuns).nodes[1];
  expect(write).toMatchObject({ seconds: 1, tokens: 120 });
  expect(write && nodeStatusText(write)).toBe("1.00 s · 120 tokens · 2 times");
});

it("lists a node's inputs with their values and sources", () => {
  const context = { request: "how many?", previousActions: [finished("1.2", "write", { question: "and before?" })] };
  const ongoing = turn([finished("1.1", "look", { kind: "data" }), finished("1.2", "write", { sql: "SELECT 1" }), action("1.3", "run")]);
  const inputsOf = (name: string, index: number) => nodeInputs(FLOW.nodes.find((node) => node.name === name)!, FLOW, ongoing, ongoing.actions[index], context);
  expect(inputsOf("run", 2)).toEqual([{ name: "sql", value: "SELECT 1", from: "write", optional: false }]);
  expect(inputsOf("write", 1)).toEqual([
    { name: "request", value: "how many?", from: "you", optional: false },
    { name: "previous_question", value: "and before?", from: "the request before", optional: true },
  ]);
});

it("uses values that the user set while the path was running", () => {
  const withUserValue = turn([finished("1.1", "look"), finished("1.5", "person", { sql: "SELECT 2" }), action("1.6", "run")]);
  expect(nodeInputs(FLOW.nodes[2]!, FLOW, withUserValue, withUserValue.actions[2], { request: "", previousActions: [] })[0]).toMatchObject({ value: "SELECT 2", from: "you" });
  expect(flowNames(withUserValue)).toEqual(["sql"]);
});

it("treats an action that waits for the user's answer as the current one", () => {
  expect(currentAction([finished("1.1", "look"), action("1.2", "write", { state: "asked" })])?.state).toBe("asked");
});

it("extracts the query's SQL, table and chart from the actions of a path", () => {
  const table = { columns: ["n"], types: ["INTEGER"], rows: [[1]], truncated: false, seconds: 0.1 };
  const result = queryResultOf([finished("1.2", "write", { sql: "SELECT 1" }), finished("1.3", "run", { result: table, problem: "" }), finished("1.4", "tell", { answer: "1", chart: "bar" })]);
  expect(result).toMatchObject({ sql: "SELECT 1", chart: "bar", table, flows: ["sql"] });
});

it("lays out nodes without overlap, and keeps edges inside the bounding box", () => {
  const { positions, edgePaths, left, top, width, height } = layoutFlow(FLOW);
  const corners = [...positions.values()];
  expect(corners).toHaveLength(4);
  for (const [index, a] of corners.entries()) for (const b of corners.slice(index + 1)) expect(Math.abs(a.x - b.x) >= NODE_SIZE.width || Math.abs(a.y - b.y) >= NODE_SIZE.height).toBe(true);
  for (const point of [...edgePaths.values()].flat()) {
    expect(point.x).toBeGreaterThanOrEqual(left);
    expect(point.x).toBeLessThanOrEqual(left + width);
    expect(point.y).toBeGreaterThanOrEqual(top);
    expect(point.y).toBeLessThanOrEqual(top + height);
  }
  expect(roundedLine([{ x: 0, y: 0 }, { x: 0, y: 10 }])).toMatchObject({ line: "M 0 0 L 0 10", angle: 90 });
});
