// What of a table is drawn: one column of labels and up to three of numbers. Pure.
import { isNumber, numeric, type Table, text } from "./table";

export interface Series {
  name: string;
  values: readonly (number | null)[];
}

export interface Chart {
  kind: "bar" | "line";
  labels: readonly string[];
  series: readonly Series[];
}

const LINES = 3;
const MOST = { bar: 40, line: 400 };

/** The chart that the flow wants, or null where the table has no such shape: then the table says it all. */
export function chartOf(table: Table, kind: string): Chart | null {
  if (kind !== "bar" && kind !== "line") return null;
  const all = table.columns.map((name, index) => ({ name, index, number: numeric(table, index) }));
  const label = all.find((one) => !one.number) ?? all[0];
  const numbers = all.filter((one) => one.number && one !== label);
  if (!label || numbers.length === 0 || numbers.length > LINES || all.length !== numbers.length + 1) return null;
  if (table.rows.length < 2 || table.rows.length > MOST[kind]) return null;
  return {
    kind,
    labels: table.rows.map((row) => text(row[label.index])),
    series: numbers.map(({ name, index }) => ({ name, values: table.rows.map((row) => numberAt(row[index])) })),
  };
}

const numberAt = (value: unknown): number | null => (isNumber(value) ? value : null);

const APART = 20;

/** Series of very different sizes are drawn apart, each to its own measure: else the small ones are flat lines. */
export function parts(chart: Chart): Chart[] {
  const sizes = chart.series.map((one) => Math.max(0, ...one.values.map((value) => Math.abs(value ?? 0)))).filter((size) => size > 0);
  if (Math.max(...sizes) <= APART * Math.min(...sizes)) return [chart];
  return chart.series.map((one) => ({ ...chart, series: [one] }));
}

/** Round numbers that hold all values and zero: what the axis is marked with. */
export function ticks(series: readonly Series[], wanted = 4): number[] {
  const values = series.flatMap((one) => one.values).filter(isNumber);
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const step = rounded((high - low || 1) / wanted);
  const first = Math.floor(low / step);
  const last = Math.ceil(high / step);
  return Array.from({ length: last - first + 1 }, (_, index) => tidy((first + index) * step));
}

function rounded(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  const digit = [1, 2, 5, 10].find((one) => one * power >= step * 0.999) ?? 10;
  return digit * power;
}

const tidy = (value: number): number => Number(value.toPrecision(12));

/** 12500 → "12.5k": an axis has little room. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 1_000_000) return `${tidy(value / 1_000_000)}M`;
  return size >= 10_000 ? `${tidy(value / 1_000)}k` : String(tidy(value));
}
