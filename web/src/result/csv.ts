// A table as CSV (RFC 4180). Text that a spreadsheet would take for a formula is made text again by an apostrophe;
// numbers that came as text, such as exact decimals, are none.

const QUOTED = /[",\r\n]/;
const FORMULA = /^[=+\-@](?!\d+(\.\d+)?$)/;

export type Cell = unknown;

export function csvOf(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function cell(value: Cell): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return quoted(typeof value === "object" ? JSON.stringify(value) : String(value));
  return quoted(FORMULA.test(value) ? `'${value}` : value);
}

const quoted = (text: string): string => (QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
