// A query's result as it is read: sorted, in pages, its values in words. Pure.
import type { Cell } from "./csv";

export interface Table {
  columns: readonly string[];
  types: readonly string[];
  rows: readonly (readonly Cell[])[];
  truncated: boolean;
  seconds: number;
}

export interface Sorting {
  column: number;
  down: boolean;
}

export const PAGE = 25;

/** What a node made, if it is a table. */
export function tableOf(value: unknown): Table | null {
  if (typeof value !== "object" || value === null) return null;
  const { columns, types, rows, truncated, seconds } = value as Partial<Table>;
  if (!Array.isArray(columns) || !Array.isArray(rows) || !rows.every((row) => Array.isArray(row))) return null;
  return { columns: columns.map(String), types: Array.isArray(types) ? types : [], rows, truncated: truncated === true, seconds: typeof seconds === "number" ? seconds : 0 };
}

export const isNumber = (value: Cell): value is number => typeof value === "number";

/** A column of numbers, with or without gaps. */
export function numeric(table: Table, column: number): boolean {
  const there = table.rows.map((row) => row[column]).filter((value) => value !== null && value !== undefined);
  return there.length > 0 && there.every(isNumber);
}

/** Gaps last, whichever way; numbers before text. */
export function sorted(rows: Table["rows"], sorting: Sorting | null): Table["rows"] {
  if (!sorting) return rows;
  const { column, down } = sorting;
  return rows.toSorted((a, b) => {
    const [one, other] = [a[column], b[column]];
    if (isGap(one) || isGap(other)) return Number(isGap(one)) - Number(isGap(other));
    return down ? compared(other, one) : compared(one, other);
  });
}

const isGap = (value: Cell): boolean => value === null || value === undefined;

function compared(a: Cell, b: Cell): number {
  if (isNumber(a) && isNumber(b)) return a - b;
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
  return text(a).localeCompare(text(b), "en", { numeric: true });
}

/** The next sorting when a column's head is pressed: up, down, as it came. */
export function pressed(sorting: Sorting | null, column: number): Sorting | null {
  if (sorting?.column !== column) return { column, down: false };
  return sorting.down ? null : { column, down: true };
}

export function text(value: Cell): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const NAMES = /(^|_)(id|zip|code|year|number)s?$/i; // numbers that count nothing

/** Numbers with thousands apart, except whole ones of four digits, which are as often years, and those that are names. */
export function shown(value: Cell, column = ""): string {
  if (!isNumber(value) || NAMES.test(column)) return text(value);
  if (Number.isInteger(value)) return Math.abs(value) < 10_000 ? String(value) : value.toLocaleString("en");
  return value.toLocaleString("en", { maximumFractionDigits: 6 });
}

/** How many there are, in words. */
export function counted({ rows, truncated }: Table): string {
  const many = rows.length.toLocaleString("en");
  return truncated ? `first ${many} rows` : `${many} row${rows.length === 1 ? "" : "s"}`;
}
