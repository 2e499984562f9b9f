// A table as CSV (RFC 4180) that a spreadsheet opens as what it says: no cell is a formula. The terminal writes the same.

// Also where only other separators than ours would end a cell: which one counts depends on the country.
const QUOTED = /[",;|'\s]/u;
const NUMBER = /^[+-]?[0-9]+([.,][0-9]+)?$/;
const FORMULAS = new Set(["=", "+", "-", "@"]);

export type Cell = unknown;

export function csvOf(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function cell(value: Cell): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return quoted(JSON.stringify(value));
  return quoted(isFormula(value) ? `'${value}` : value);
}

/** Whether a spreadsheet may run this: it begins with =, +, - or @, in any width, after anything that is not seen.
 * A tab or a line break in front is enough, as OWASP lists it. Numbers that came as text are none. */
function isFormula(text: string): boolean {
  if (/^[\t\r\n]/.test(text)) return true;
  const bare = text.replace(/^[\s\p{Cc}\p{Cf}]+/u, "").slice(0, 1);
  return FORMULAS.has(bare.normalize("NFKC")) && !NUMBER.test(text);
}

const quoted = (text: string): string => (QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
