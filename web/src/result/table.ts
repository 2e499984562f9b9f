// A query's result for display: sorting, paging, and formatting. Pure.
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
  descending: boolean;
}

export const PAGE_SIZE = 25;

/** The value as a table; null if it is not one. */
export function tableOf(value: unknown): Table | null {
  if (typeof value !== "object" || value === null) return null;
  const { columns, types, rows, truncated, seconds } = value as Partial<Table>;
  if (!Array.isArray(columns) || !Array.isArray(rows) || !rows.every((row) => Array.isArray(row))) return null;
  return { columns: columns.map(String), types: Array.isArray(types) ? types : [], rows, truncated: truncated === true, seconds: typeof seconds === "number" ? seconds : 0 };
}

export const isNumber = (value: Cell): value is number => typeof value === "number";

/** The column holds only numbers and missing values, and at least one number. */
export function isNumericColumn(table: Table, column: number): boolean {
  const values = table.rows.map((row) => row[column]).filter((value) => value !== null && value !== undefined);
  return values.length > 0 && values.every(isNumber);
}

/** Missing values last in both directions; numbers before text. */
export function sortRows(rows: Table["rows"], sorting: Sorting | null): Table["rows"] {
  if (!sorting) return rows;
  const { column, descending } = sorting;
  return rows.toSorted((a, b) => {
    const [left, right] = [a[column], b[column]];
    if (isGap(left) || isGap(right)) return Number(isGap(left)) - Number(isGap(right));
    return descending ? compareCells(right, left) : compareCells(left, right);
  });
}

const isGap = (value: Cell): boolean => value === null || value === undefined;

function compareCells(a: Cell, b: Cell): number {
  if (isNumber(a) && isNumber(b)) return a - b;
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
  return cellText(a).localeCompare(cellText(b), "en", { numeric: true });
}

/** The next sorting when the user clicks a column: ascending, descending, unsorted. */
export function nextSorting(sorting: Sorting | null, column: number): Sorting | null {
  if (sorting?.column !== column) return { column, descending: false };
  return sorting.descending ? null : { column, descending: true };
}

export function cellText(value: Cell): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const IDENTIFIER_COLUMNS = /(^|_)(id|zip|code|year|number)s?$/i; // columns whose numbers are identifiers

/** Adds thousands separators, except to integers below 10,000 (often years) and to identifiers. */
export function formatCell(value: Cell, column = ""): string {
  if (!isNumber(value) || IDENTIFIER_COLUMNS.test(column)) return cellText(value);
  if (Number.isInteger(value)) return Math.abs(value) < 10_000 ? String(value) : value.toLocaleString("en");
  return value.toLocaleString("en", { maximumFractionDigits: 6 });
}

/** The row count in words. */
export function rowCountText({ rows, truncated }: Table): string {
  const count = rows.length.toLocaleString("en");
  return truncated ? `first ${count} rows` : `${count} row${rows.length === 1 ? "" : "s"}`;
}
