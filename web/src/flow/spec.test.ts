import { expect, it } from "vitest";
import { choices, completed, inserted, insertable, without } from "./pathEdit";
import { begunWith, chains, missing, ordinary, pathProblems, problemsOf, split } from "./spec";
import { FLOW, OTHER } from "./testFlow";

const fresh = { after: "", have: [] };
const tools = (...names: string[]) => names.map((name) => (name.includes(".") ? name : `sql.${name}`));

it("reads tools as nodes of flows", () => {
  expect(split("sql.run")).toEqual(["sql", "run"]);
  expect(split("run_code")).toEqual(["", "run_code"]);
  expect(chains(["sql.look", "sql.tell", "triage.reply"])).toEqual([
    { flow: "sql", nodes: ["look", "tell"] },
    { flow: "triage", nodes: ["reply"] },
  ]);
});

it("accepts a path that follows the graph and has its inputs made", () => {
  expect(pathProblems(FLOW, ["look", "write", "run", "tell"], ["request"])).toEqual([]);
  expect(pathProblems(FLOW, ["write", "run", "write", "run", "tell"], ["request"])).toEqual([]);
});

it("tells all that is wrong with a path", () => {
  expect(pathProblems(FLOW, [], ["request"])).toEqual(["The path has no nodes."]);
  expect(pathProblems(FLOW, ["look", "fly"], ["request"])).toEqual(["sql has no node “fly”."]);
  expect(pathProblems(FLOW, ["look", "run"], ["request"])).toEqual([
    "look is not followed by run, but by write, tell.",
    "run needs sql, which nothing before it makes.",
    "The path ends at run, which is no end. Next: tell, write.",
  ]);
  expect(pathProblems(FLOW, ["tell", "look", "tell"], ["request"])[0]).toMatch("nothing: the flow ends there");
});

it("holds a rest against the node that ran last and what it makes", () => {
  expect(problemsOf([FLOW], tools("run", "tell"), { after: "sql.write", have: [] })).toEqual([]);
  expect(problemsOf([FLOW], tools("run", "tell"), { after: "sql.look", have: ["sql"] })).toHaveLength(1);
  expect(problemsOf([FLOW], tools("run", "tell"), fresh)).toEqual(["run needs sql, which nothing before it makes."]);
  expect(problemsOf([FLOW], [], fresh)).toEqual(["The path has no nodes."]);
});

it("gives the second flow what the first one found", () => {
  expect(problemsOf([FLOW, OTHER], tools("look", "tell", "triage.reply"), fresh)).toEqual([]);
  expect(problemsOf([FLOW, OTHER], tools("triage.reply"), fresh)).toEqual(["reply needs findings, which nothing before it makes."]);
  expect(problemsOf([FLOW], tools("triage.reply"), fresh)).toEqual(["There is no flow “triage”."]);
});

it("knows which values a person would have to set", () => {
  expect(missing(FLOW, ["run", "tell"], ["request"])).toEqual(["sql"]);
  expect(missing(FLOW, ["write", "run", "tell"], ["request"])).toEqual([]);
});

it("knows what a flow began with from the path that was planned", () => {
  expect(begunWith([FLOW], tools("write", "run", "tell"))).toEqual([]);
  expect(begunWith([{ ...FLOW, may_start: ["sql"] }], tools("run", "tell"))).toEqual(["sql"]);
  expect(begunWith([], tools("run"))).toEqual([]);
});

it("offers what may follow, and the ordinary way to the end", () => {
  expect(choices([FLOW], tools("look", "write"), 1, "")).toEqual(tools("write", "tell"));
  expect(choices([FLOW], tools("tell"), 0, "sql.look")).toEqual(tools("write", "tell"));
  expect(choices([FLOW], tools("look"), 0, "")).toEqual(tools("look", "write", "run", "tell"));
  expect(insertable([FLOW], tools("look"), 1, "")).toEqual(tools("write", "tell"));
  expect(insertable([FLOW], tools("look", "tell"), 2, "")).toEqual([]);
  expect(ordinary(FLOW, "write")).toEqual(["run", "tell"]);
  expect(completed([FLOW], tools("look", "write"), "")).toEqual(tools("look", "write", "run", "tell"));
  expect(completed([FLOW], [], "sql.run")).toEqual(tools("tell"));
});

it("changes a path without touching the one before", () => {
  const path = tools("look", "tell");
  expect(inserted(path, 1, "sql.write")).toEqual(tools("look", "write", "tell"));
  expect(without(path, 0)).toEqual(tools("tell"));
  expect(path).toHaveLength(2);
});
