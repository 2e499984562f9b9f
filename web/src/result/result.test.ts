/// <reference types="node" />
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { axisTicks, chartOf, formatTick, splitByScale } from "./chart";
import { csvOf } from "./csv";
import { cellText, isNumericColumn, nextSorting, rowCountText, sortRows, type Table, tableOf } from "./table";

const table = (columns: string[], ...rows: unknown[][]): Table => ({ columns, types: [], rows, truncated: false, seconds: 0 });

it("writes CSV that parses back to the same values", () => {
  expect(csvOf(["a", "b"], [["x,y", 'say "hi"'], ["two\nlines", null]])).toBe('\ufeffa,b\r\n"x,y","say ""hi"""\r\n"two\nlines",\r\n');
  expect(csvOf(["n"], [[-1.5], [true], [{ a: 1 }]])).toBe('\ufeffn\r\n-1.5\r\ntrue\r\n"{""a"":1}"\r\n');
});

it("escapes cells that a spreadsheet would run as formulas, as the terminal does", () => {
  const cells = JSON.parse(readFileSync(new URL("../../../tests/support/csv_cells.json", import.meta.url), "utf8")) as [unknown, string][];
  for (const [value, written] of cells) expect(csvOf(["x"], [[value]])).toBe(`\ufeffx\r\n${written}\r\n`);
  expect(csvOf(["=evil"], [])).toBe("\ufeff\"'=evil\"\r\n");
});

it("begins a CSV file with the mark of UTF-8, which Excel needs", () => {
  for (const text of ["naïve", "東京", "отчёт", "£ 5", "🚀", "plain"]) {
    const bytes = new TextEncoder().encode(csvOf(["name"], [[text]]));
    expect([...bytes.slice(0, 4)]).toEqual([0xef, 0xbb, 0xbf, "n".charCodeAt(0)]);
  }
});

const sorted = (values: unknown[], descending: boolean, type = "") => sortRows({ rows: values.map((value) => [value]), types: [type] }, { column: 0, descending }).map(([value]) => value);

it("sorts numbers numerically, text naturally, and missing values last", () => {
  expect(sorted([10, null, 9, -1], false)).toEqual([-1, 9, 10, null]);
  expect(sorted([10, null, 9, -1], true)).toEqual([10, 9, -1, null]);
  expect(sorted(["#W10", "#W9"], false)).toEqual(["#W9", "#W10"]);
  expect(sorted(["Nan", "Inf", "Ada"], false)).toEqual(["Ada", "Inf", "Nan"]); // names of people
  const rows = [[2], [1]];
  expect(sortRows({ rows, types: [] }, null)).toBe(rows);
});

it("sorts infinities at the ends, NaN after all numbers, and long integers by all of their digits", () => {
  for (const [low, high] of [["-inf", "inf"], ["-Infinity", "Infinity"]]) {
    expect(sorted([1, high, "nan", null, 5, low], false)).toEqual([low, 1, 5, high, "nan", null]);
    expect(sorted([1, high, "NaN", null, 5, low], true)).toEqual([high, 5, 1, low, "NaN", null]);
  }
  expect(sorted(["9007199254740993", "9007199254740992", 3], false)).toEqual([3, "9007199254740992", "9007199254740993"]);
  expect(sorted(["12.30", "5.00", "-1"], false, "numeric")).toEqual(["-1", "5.00", "12.30"]);
});

it("cycles through ascending, descending and unsorted when a column is clicked", () => {
  const ascending = nextSorting(null, 1);
  const descending = nextSorting(ascending, 1);
  expect([ascending, descending, nextSorting(descending, 1), nextSorting(ascending, 0)]).toEqual([{ column: 1, descending: false }, { column: 1, descending: true }, null, { column: 0, descending: false }]);
});

it("shows values as they were sent, whatever their column is called", () => {
  const sent: [unknown, string][] = [
    [2024, "2024"], [20260131, "20260131"], [1_234_567, "1234567"], [4_930_123_456, "4930123456"],
    ["007", "007"], ["9007199254740993", "9007199254740993"], [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    [0.0000004, "4e-7"], [19.989999771118164, "19.989999771118164"], [-0.5, "-0.5"], ["inf", "inf"],
    ["12.30", "12.30"], [null, ""], [true, "true"], [{ a: 1 }, '{"a":1}'],
  ];
  for (const [value, text] of sent) expect(cellText(value)).toBe(text);
});

it("says how many rows there are", () => {
  expect(rowCountText({ ...table(["a"], ...Array.from({ length: 1000 }, () => [1])), truncated: true })).toBe("first 1,000 rows");
  expect(rowCountText(table(["a"], [1]))).toBe("1 row");
});

it("accepts only valid tables", () => {
  expect(tableOf({ columns: ["a"], rows: [[1]], seconds: 1 })).toMatchObject({ columns: ["a"], truncated: false });
  expect(tableOf({ columns: ["a"], rows: [1] })).toBeNull();
  expect(tableOf(null)).toBeNull();
  expect(isNumericColumn(table(["a", "b"], [1, "x"], [null, "y"]), 0)).toBe(true);
  expect(isNumericColumn(table(["a"], [null]), 0)).toBe(false);
  expect(isNumericColumn(table(["a"], [1], ["-inf"], ["nan"], ["12345678901234567890"]), 0)).toBe(true);
  expect(isNumericColumn(table(["a"], ["0012345678901234567"], [1]), 0)).toBe(false);
  expect(isNumericColumn(table(["phone"], ["4930123456"], ["030123456"]), 0)).toBe(false);
  expect(["bigint", "int8", "numeric", "NUMERIC(10,2)", "double precision", "real", "float8", "text", "interval", "point", "uuid"].filter((type) => isNumericColumn({ rows: [["12"]], types: [type] }, 0))).toEqual(
    ["bigint", "int8", "numeric", "NUMERIC(10,2)", "double precision", "real", "float8"]);
});

it("charts a table with one column of labels and one to three columns of numbers", () => {
  const statusCounts = table(["status", "orders"], ["open", 3], ["done", null]);
  expect(chartOf(statusCounts, "bar")).toEqual({ kind: "bar", labels: ["open", "done"], series: [{ name: "orders", values: [3, null], texts: ["3", ""] }] });
  const infinite = table(["day", "n"], ["a", 1], ["b", "inf"], ["c", "-inf"], ["d", "nan"], ["e", 1.7e308], ["f", 5]);
  expect(chartOf(infinite, "line")?.series).toEqual([{ name: "n", values: [1, null, null, null, null, 5], texts: ["1", "inf", "-inf", "nan", "1.7e+308", "5"] }]);
  expect(chartOf(table(["year", "n"], [2024, 1], [2025, 2]), "line")).toMatchObject({ labels: ["2024", "2025"], series: [{ name: "n" }] });
  expect(chartOf(statusCounts, "none")).toBeNull();
  expect(chartOf(table(["a", "b", "n"], ["x", "y", 1], ["x", "z", 1]), "bar")).toBeNull();
  expect(chartOf(table(["a", "n"], ["x", 1]), "bar")).toBeNull();
  expect(chartOf(table(["a", "n"], ...Array.from({ length: 41 }, (_, index) => [`${index}`, 1])), "bar")).toBeNull();
});

const series = (...values: (number | null)[]) => ({ name: "n", values, texts: values.map(String) });

it("splits series of very different scale into separate charts", () => {
  const split = (small: number, large: number) => splitByScale({ kind: "line", labels: ["a", "b"], series: [series(small, 1), series(large, 1)] });
  expect(split(10, 60)).toHaveLength(1);
  expect(split(10, 6_000).map((part) => part.series.length)).toEqual([1, 1]);
});

it("chooses round axis ticks that cover all values", () => {
  const ticksFor = (...values: number[]) => axisTicks([series(...values)]);
  expect(ticksFor(0, 8)).toEqual([0, 2, 4, 6, 8]);
  expect(ticksFor(-3, 9)).toEqual([-5, 0, 5, 10]);
  expect(ticksFor(0, 0)).toEqual([0]);
  expect(ticksFor(0.1, 0.37)).toEqual([0, 0.1, 0.2, 0.3, 0.4]);
  expect(ticksFor(4e-7)).toEqual([0, 1e-7, 2e-7, 3e-7, 4e-7]);
  expect(ticksFor(-9e299, 9e299).every(Number.isFinite)).toBe(true);
  expect([950, 25_000, 1_500_000, 2e9, 5e20, 1e-7].map(formatTick)).toEqual(["950", "25k", "1.5M", "2G", "5e20", "1e-7"]);
});
