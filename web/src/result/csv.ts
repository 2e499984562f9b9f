// CSV (RFC 4180) that is safe to open in a spreadsheet: no cell is a formula. The terminal writes the same.

// Also quote other possible separators: which one a spreadsheet uses depends on the locale.
const NEEDS_QUOTES = /[",;|'\s]/u;
const NUMBER = /^[+-]?[0-9]+([.,][0-9]+)?$/;
const FORMULA_STARTS = new Set(["=", "+", "-", "@"]);

// Without this mark Excel reads the file in the Windows code page of its country.
const UTF8_MARK = "\ufeff";

export type Cell = unknown;

/** A file: a mark that says it is UTF-8, the names of the columns, and the rows. */
export function csvOf(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return UTF8_MARK + [columns, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

function csvCell(value: Cell): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return quote(JSON.stringify(value));
  return quote(isFormula(value) ? `'${value}` : value);
}

/**
 * Whether a spreadsheet might run this text: it starts with =, +, - or @ in any width, possibly after invisible
 * characters, or with a tab or line break (OWASP's list). Numbers in text are safe.
 */
function isFormula(text: string): boolean {
  if (/^[\t\r\n]/.test(text)) return true;
  const bare = text.replace(/^[\s\p{Cc}\p{Cf}]+/u, "").slice(0, 1);
  return FORMULA_STARTS.has(bare.normalize("NFKC")) && !NUMBER.test(text);
}

const quote = (text: string): string => (NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
