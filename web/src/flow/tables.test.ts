import { expect, it } from "vitest";
import { answerOf, filtered, tablesOf } from "./tables";

const form = {
  kind: "tables",
  tables: [
    { name: "users", reason: "", chosen: false, columns: ["zip TEXT"] },
    { name: "orders", reason: "it has the status", chosen: true, columns: ["status TEXT"] },
  ],
};

it("puts the proposed tables first", () => {
  expect(tablesOf(form)?.map((one) => one.name)).toEqual(["orders", "users"]);
  expect(tablesOf({ kind: "other" })).toBeNull();
  expect(tablesOf(null)).toBeNull();
});

it("finds tables by name, reason and column", () => {
  const tables = tablesOf(form) ?? [];
  expect(filtered(tables, "zip").map((one) => one.name)).toEqual(["users"]);
  expect(filtered(tables, "Status text").map((one) => one.name)).toEqual(["orders"]);
  expect(filtered(tables, " ")).toHaveLength(2);
});

it("sends a choice as names", () => {
  expect(answerOf(["orders", "users"])).toBe('{"tables":["orders","users"]}');
});
