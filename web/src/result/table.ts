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

// Numbers that JSON cannot hold arrive as text: infinities, and more digits than a double has.
const NON_FINITE = /^([+-]?)(?:(inf(?:inity)?)|nan)$/i;
const DECIMAL = /^[+-]?\d+(?:\.\d+)?$/;
const LONG_DECIMAL = /^(?=(?:\D*\d){16})[+-]?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const NUMERIC_TYPES = /^(?:big|small|tiny|medium)?(?:int(?!erval)|serial|numeric|decimal|number|real|float|double)/i;

/** The number that a cell of a numeric column holds, NaN included; null for any other value. */
export function numberOf(value: Cell): number | null {
  if (typeof value === "number") return value;
  if (typeof value !== "string") return null;
  const [, sign, infinite] = NON_FINITE.exec(value) ?? [];
  if (sign !== undefined) return infinite ? (sign === "-" ? -Infinity : Infinity) : NaN;
  return DECIMAL.test(value) ? Number(value) : null;
}

/** The column's values are numbers or missing. Text counts as a number only where a number had to become text. */
export function isNumericColumn({ rows, types }: Pick<Table, "rows" | "types">, column: number): boolean {
  const values = rows.map((row) => row[column]).filter((value) => !isGap(value));
  const isDeclared = NUMERIC_TYPES.test(types[column] ?? "");
  const isText = (value: Cell) => typeof value === "string" && (NON_FINITE.test(value) || (isDeclared ? DECIMAL : LONG_DECIMAL).test(value));
  return values.some((value) => isDeclared || typeof value === "number") && values.every((value) => typeof value === "number" || isText(value));
}

/** Missing values last in both directions, and NaN before them; numbers before text. */
export function sortRows(table: Pick<Table, "rows" | "types">, sorting: Sorting | null): Table["rows"] {
  if (!sorting) return table.rows;
  const { column, descending } = sorting;
  const compare = isNumericColumn(table, column) ? compareNumbers : compareCells;
  const rank = (value: Cell): number => (isGap(value) ? 2 : compare === compareNumbers && Number.isNaN(numberOf(value)) ? 1 : 0);
  return table.rows.toSorted((a, b) => {
    const [left, right] = [a[column], b[column]];
    return rank(left) - rank(right) || (rank(left) > 0 ? 0 : descending ? compare(right, left) : compare(left, right));
  });
}

const isGap = (value: Cell): boolean => value === null || value === undefined;

function compareNumbers(a: Cell, b: Cell): number {
  const [left, right] = [numberOf(a) ?? 0, numberOf(b) ?? 0];
  if (left !== right) return left < right ? -1 : 1;
  const [long, other] = [cellText(a), cellText(b)]; // equal as doubles: compare all digits
  return INTEGER.test(long) && INTEGER.test(other) ? Number(BigInt(long) - BigInt(other)) : 0;
}

const INTEGER = /^-?\d+$/;

function compareCells(a: Cell, b: Cell): number {
  const [left, right] = [typeof a === "number", typeof b === "number"];
  if (left && right) return (a as number) - (b as number);
  if (left !== right) return left ? -1 : 1;
  return cellText(a).localeCompare(cellText(b), "en", { numeric: true });
}

/** The next sorting when the user clicks a column: ascending, descending, unsorted. */
export function nextSorting(sorting: Sorting | null, column: number): Sorting | null {
  if (sorting?.column !== column) return { column, descending: false };
  return sorting.descending ? null : { column, descending: true };
}

/** The value as it was sent. Numbers keep their digits: one may be an id, a postcode, a year or a day. */
export function cellText(value: Cell): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The row count in words. */
export function rowCountText({ rows, truncated }: Table): string {
  const count = rows.length.toLocaleString("en");
  return truncated ? `first ${count} rows` : `${count} row${rows.length === 1 ? "" : "s"}`;
}
