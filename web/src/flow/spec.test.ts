import { expect, it } from "vitest";
import { allowedNodes, insertableNodes, insertNode, removeNode } from "./pathEdit";
import { groupByFlow, splitTool } from "./spec";
import { FLOW } from "./testFlow";

const tools = (...names: string[]) => names.map((name) => (name.includes(".") ? name : `sql.${name}`));

it("splits tools into flow and node", () => {
  expect(splitTool("sql.run")).toEqual(["sql", "run"]);
  expect(splitTool("run_code")).toEqual(["", "run_code"]);
  expect(groupByFlow(["sql.look", "sql.tell", "triage.reply"])).toEqual([
    { flow: "sql", nodes: ["look", "tell"] },
    { flow: "triage", nodes: ["reply"] },
  ]);
});

it("offers the nodes that may follow", () => {
  expect(allowedNodes([FLOW], tools("look", "write"), 1, "")).toEqual(tools("write", "tell"));
  expect(allowedNodes([FLOW], tools("tell"), 0, "sql.look")).toEqual(tools("write", "tell"));
  expect(allowedNodes([FLOW], tools("look"), 0, "")).toEqual(tools("look", "write", "run", "tell"));
  expect(insertableNodes([FLOW], tools("look"), 1, "")).toEqual(tools("write", "tell"));
  expect(insertableNodes([FLOW], tools("look", "tell"), 2, "")).toEqual([]);
});

it("edits a copy of the path", () => {
  const path = tools("look", "tell");
  expect(insertNode(path, 1, "sql.write")).toEqual(tools("look", "write", "tell"));
  expect(removeNode(path, 0)).toEqual(tools("tell"));
  expect(path).toHaveLength(2);
});
