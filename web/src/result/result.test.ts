/// <reference types="node" />
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { axisTicks, chartOf, formatTick, splitByScale } from "./chart";
import { csvOf } from "./csv";
import { formatCell, isNumericColumn, nextSorting, rowCountText, sortRows, type Table, tableOf } from "./table";

const table = (columns: string[], ...rows: unknown[][]): Table => ({ columns, types: [], rows, truncated: false, seconds: 0 });

it("writes CSV that parses back to the same values", () => {
  expect(csvOf(["a", "b"], [["x,y", 'say "hi"'], ["two\nlines", null]])).toBe('a,b\r\n"x,y","say ""hi"""\r\n"two\nlines",\r\n');
  expect(csvOf(["n"], [[-1.5], [true], [{ a: 1 }]])).toBe('n\r\n-1.5\r\ntrue\r\n"{""a"":1}"\r\n');
});

it("escapes cells that a spreadsheet would run as formulas, as the terminal does", () => {
  const cells = JSON.parse(readFileSync(new URL("../../../tests/support/csv_cells.json", import.meta.url), "utf8")) as [unknown, string][];
  for (const [value, written] of cells) expect(csvOf(["x"], [[value]])).toBe(`x\r\n${written}\r\n`);
  expect(csvOf(["=evil"], [])).toBe("\"'=evil\"\r\n");
});

it("sorts numbers numerically, text naturally, and missing values last", () => {
  const rows = [[10], [null], [9], [-1]];
  expect(sortRows(rows, { column: 0, descending: false })).toEqual([[-1], [9], [10], [null]]);
  expect(sortRows(rows, { column: 0, descending: true })).toEqual([[10], [9], [-1], [null]]);
  expect(sortRows([["#W10"], ["#W9"]], { column: 0, descending: false })).toEqual([["#W9"], ["#W10"]]);
  expect(sortRows(rows, null)).toBe(rows);
});

it("cycles through ascending, descending and unsorted when a column is clicked", () => {
  const ascending = nextSorting(null, 1);
  const descending = nextSorting(ascending, 1);
  expect([ascending, descending, nextSorting(descending, 1), nextSorting(ascending, 0)]).toEqual([{ column: 1, descending: false }, { column: 1, descending: true }, null, { column: 0, descending: false }]);
});

it("formats values and counts for people", () => {
  expect([2024, 1_234_567, 0.1 + 0.2, null, true].map((value) => formatCell(value))).toEqual(["2024", "1,234,567", "0.3", "", "true"]);
  expect([formatCell(10_001, "zip"), formatCell(123_456, "user_id"), formatCell(123_456, "paid")]).toEqual(["10001", "123456", "123,456"]);
  expect(rowCountText({ ...table(["a"], ...Array.from({ length: 1000 }, () => [1])), truncated: true })).toBe("first 1,000 rows");
  expect(rowCountText(table(["a"], [1]))).toBe("1 row");
});

it("accepts only valid tables", () => {
  expect(tableOf({ columns: ["a"], rows: [[1]], seconds: 1 })).toMatchObject({ columns: ["a"], truncated: false });
  expect(tableOf({ columns: ["a"], rows: [1] })).toBeNull();
  expect(tableOf(null)).toBeNull();
  expect(isNumericColumn(table(["a", "b"], [1, "x"], [null, "y"]), 0)).toBe(true);
  expect(isNumericColumn(table(["a"], [null]), 0)).toBe(false);
});

it("charts a table with one column of labels and one to three columns of numbers", () => {
  const statusCounts = table(["status", "orders"], ["open", 3], ["done", null]);
  expect(chartOf(statusCounts, "bar")).toEqual({ kind: "bar", labels: ["open", "done"], series: [{ name: "orders", values: [3, null] }] });
  expect(chartOf(table(["year", "n"], [2024, 1], [2025, 2]), "line")).toMatchObject({ labels: ["2024", "2025"], series: [{ name: "n" }] });
  expect(chartOf(statusCounts, "none")).toBeNull();
  expect(chartOf(table(["a", "b", "n"], ["x", "y", 1], ["x", "z", 1]), "bar")).toBeNull();
  expect(chartOf(table(["a", "n"], ["x", 1]), "bar")).toBeNull();
  expect(chartOf(table(["a", "n"], ...Array.from({ length: 41 }, (_, index) => [`${index}`, 1])), "bar")).toBeNull();
});

it("splits series of very different scale into separate charts", () => {
  const split = (small: number, large: number) => splitByScale({ kind: "line", labels: ["a", "b"], series: [{ name: "s", values: [small, 1] }, { name: "l", values: [large, 1] }] });
  expect(split(10, 60)).toHaveLength(1);
  expect(split(10, 6_000).map((part) => part.series.length)).toEqual([1, 1]);
});

it("chooses round axis ticks that cover all values", () => {
  const ticksFor = (...values: number[]) => axisTicks([{ name: "n", values }]);
  expect(ticksFor(0, 8)).toEqual([0, 2, 4, 6, 8]);
  expect(ticksFor(-3, 9)).toEqual([-5, 0, 5, 10]);
  expect(ticksFor(0, 0)).toEqual([0]);
  expect(ticksFor(0.1, 0.37)).toEqual([0, 0.1, 0.2, 0.3, 0.4]);
  expect([950, 25_000, 1_500_000].map(formatTick)).toEqual(["950", "25k", "1.5M"]);
});
