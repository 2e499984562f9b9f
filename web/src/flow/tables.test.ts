import { expect, it } from "vitest";
import { filterTables, tablesAnswer, tablesOf } from "./tables";

const form = {
  kind: "tables",
  tables: [
    { name: "users", reason: "", chosen: false, columns: ["zip TEXT"] },
    { name: "orders", reason: "it has the status", chosen: true, columns: ["status TEXT"] },
  ],
};

it("lists the proposed tables first", () => {
  expect(tablesOf(form)?.map((table) => table.name)).toEqual(["orders", "users"]);
  expect(tablesOf({ kind: "other" })).toBeNull();
  expect(tablesOf(null)).toBeNull();
});

it("filters tables by name, reason and column", () => {
  const tables = tablesOf(form) ?? [];
  expect(filterTables(tables, "zip").map((table) => table.name)).toEqual(["users"]);
  expect(filterTables(tables, "Status text").map((table) => table.name)).toEqual(["orders"]);
  expect(filterTables(tables, " ")).toHaveLength(2);
});

it("encodes the selected tables' names as the answer", () => {
  expect(tablesAnswer(["orders", "users"])).toBe('{"tables":["orders","users"]}');
});
