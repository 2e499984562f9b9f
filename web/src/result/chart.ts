// Chart data from a table: one column of labels and up to three of numbers. Pure.
import { cellText, isNumericColumn, numberOf, type Table } from "./table";

export interface Series {
  name: string;
  /** null where there is no point to draw: the value is missing, NaN, infinite or nearly so. */
  values: readonly (number | null)[];
  /** The values in words. */
  texts: readonly string[];
}

export interface Chart {
  kind: "bar" | "line";
  labels: readonly string[];
  series: readonly Series[];
}

const MAX_SERIES = 3;
const MAX_POINTS = { bar: 40, line: 400 };

/** The chart of the kind that the flow suggests; null if the table does not have the shape for it. */
export function chartOf(table: Table, kind: string): Chart | null {
  if (kind !== "bar" && kind !== "line") return null;
  const columns = table.columns.map((name, index) => ({ name, index, number: isNumericColumn(table, index) }));
  const label = columns.find((column) => !column.number) ?? columns[0];
  const numbers = columns.filter((column) => column.number && column !== label);
  if (!label || numbers.length === 0 || numbers.length > MAX_SERIES || columns.length !== numbers.length + 1) return null;
  if (table.rows.length < 2 || table.rows.length > MAX_POINTS[kind]) return null;
  return {
    kind,
    labels: table.rows.map((row) => cellText(row[label.index])),
    series: numbers.map(({ name, index }) => ({ name, values: table.rows.map((row) => pointAt(row[index])), texts: table.rows.map((row) => cellText(row[index])) })),
  };
}

const MAX_DRAWN = 1e300; // the axis of larger numbers would end beyond the largest double

function pointAt(value: unknown): number | null {
  const number = numberOf(value);
  return number !== null && Math.abs(number) < MAX_DRAWN ? number : null;
}

const MAX_SCALE_RATIO = 20;

/** Splits series of very different scale into separate charts; small series would otherwise look flat. */
export function splitByScale(chart: Chart): Chart[] {
  const sizes = chart.series.map((item) => Math.max(0, ...item.values.map((value) => Math.abs(value ?? 0)))).filter((size) => size > 0);
  if (Math.max(...sizes) <= MAX_SCALE_RATIO * Math.min(...sizes)) return [chart];
  return chart.series.map((item) => ({ ...chart, series: [item] }));
}

/** Round axis values that cover all data and zero. */
export function axisTicks(series: readonly Series[], count = 4): number[] {
  const values = series.flatMap((item) => item.values).filter((value) => value !== null);
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const step = niceStep((high - low || 1) / count);
  const first = Math.floor(low / step);
  const last = Math.ceil(high / step);
  return Array.from({ length: last - first + 1 }, (_, index) => withoutRoundingError((first + index) * step));
}

function niceStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  const digit = [1, 2, 5, 10].find((candidate) => candidate * power >= step * 0.999) ?? 10;
  return digit * power;
}

const withoutRoundingError = (value: number): number => Number(value.toPrecision(12));

/** 12500 → "12.5k", 5e20 → "5e20": the axis has little room. */
export function formatTick(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e15) return value.toExponential().replace("+", "");
  if (size >= 1_000_000_000) return `${withoutRoundingError(value / 1_000_000_000)}G`;
  if (size >= 1_000_000) return `${withoutRoundingError(value / 1_000_000)}M`;
  return size >= 10_000 ? `${withoutRoundingError(value / 1_000)}k` : String(withoutRoundingError(value));
}
