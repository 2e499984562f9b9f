import { expect, it } from "vitest";
import { choices, inserted, insertable, without } from "./pathEdit";
import { chains, split } from "./spec";
import { FLOW } from "./testFlow";

const tools = (...names: string[]) => names.map((name) => (name.includes(".") ? name : `sql.${name}`));

it("reads tools as nodes of flows", () => {
  expect(split("sql.run")).toEqual(["sql", "run"]);
  expect(split("run_code")).toEqual(["", "run_code"]);
  expect(chains(["sql.look", "sql.tell", "triage.reply"])).toEqual([
    { flow: "sql", nodes: ["look", "tell"] },
    { flow: "triage", nodes: ["reply"] },
  ]);
});

it("offers what may follow", () => {
  expect(choices([FLOW], tools("look", "write"), 1, "")).toEqual(tools("write", "tell"));
  expect(choices([FLOW], tools("tell"), 0, "sql.look")).toEqual(tools("write", "tell"));
  expect(choices([FLOW], tools("look"), 0, "")).toEqual(tools("look", "write", "run", "tell"));
  expect(insertable([FLOW], tools("look"), 1, "")).toEqual(tools("write", "tell"));
  expect(insertable([FLOW], tools("look", "tell"), 2, "")).toEqual([]);
});

it("changes a path without touching the one before", () => {
  const path = tools("look", "tell");
  expect(inserted(path, 1, "sql.write")).toEqual(tools("look", "write", "tell"));
  expect(without(path, 0)).toEqual(tools("tell"));
  expect(path).toHaveLength(2);
});
