import { expect, it } from "vitest";
import { allowedNodes, insertableNodes } from "./pathEdit";
import { groupByFlow, splitTool } from "./spec";
import { FLOW } from "./testFlow";

const tools = (...names: string[]) => names.map((name) => (name.includes(".") ? name : `sql.${name}`));

it("splits a tool's name into flow and node, and groups tools by flow", () => {
  expect(splitTool("sql.run")).toEqual(["sql", "run"]);
  expect(splitTool("run_code")).toEqual(["", "run_code"]);
  expect(groupByFlow(["sql.look", "sql.tell", "triage.reply"])).toEqual([
    { flow: "sql", nodes: ["look", "tell"] },
    { flow: "triage", nodes: ["reply"] },
  ]);
});

it("offers only nodes that may follow the previous one, or any node if there is none", () => {
  expect(allowedNodes([FLOW], tools("look", "write"), 1, "")).toEqual(tools("write", "tell"));
  expect(allowedNodes([FLOW], tools("tell"), 0, "sql.look")).toEqual(tools("write", "tell"));
  expect(allowedNodes([FLOW], tools("look"), 0, "")).toEqual(tools("look", "write", "run", "tell"));
  expect(insertableNodes([FLOW], tools("look"), 1, "")).toEqual(tools("write", "tell"));
  expect(insertableNodes([FLOW], tools("look", "tell"), 2, "")).toEqual([]);
});
