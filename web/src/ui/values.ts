// Values of tools as people read them. Pure.

/** A result that is JSON in a string is shown as what it says; anything else stays as it is. */
export function pretty(value: unknown): string {
  const read = parsed(value);
  return typeof read === "string" ? read : (JSON.stringify(read, null, 2) ?? "");
}

/** The document that a text is, or the value itself. */
function parsed(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/** One value in a line: text plain, a flat object as names and values, the rest as JSON. */
export function inline(value: unknown): string {
  if (value === undefined || value === null) return "–";
  if (typeof value === "string") return value || "“”";
  if (isObject(value) && Object.values(value).every(isPlain)) return named(value);
  return JSON.stringify(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const isPlain = (value: unknown): boolean => typeof value !== "object" || value === null;

function named(values: Record<string, unknown>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}: ${inline(value)}`)
    .join(" · ");
}

const LINES = 24;
const CHARACTERS = 3_000;

/** The beginning of a long text, cut at a line where there is one. */
export function beginning(text: string): string {
  if (text.length <= CHARACTERS && count(text) <= LINES) return text;
  const lines = text.slice(0, CHARACTERS).split("\n").slice(0, LINES);
  return lines.join("\n");
}

function count(text: string): number {
  return text.split("\n").length;
}

/** What an outcome comes to, in one line: of a document its plain fields, which say more than its beginning. */
export function gist(value: unknown): string {
  const read = parsed(value);
  if (Array.isArray(read)) return `${read.length} in all: ${line(JSON.stringify(read))}`;
  if (!isObject(read)) return line(typeof read === "string" ? read : (JSON.stringify(read) ?? ""));
  const plain = Object.entries(read).filter(([, one]) => isPlain(one));
  return line(plain.length ? named(Object.fromEntries(plain)) : JSON.stringify(read));
}

const line = (text: string): string => text.replace(/\s+/g, " ").slice(0, 240);

export function bytes(size: number): string {
  if (size < 1_000) return `${size} bytes`;
  if (size < 1_000_000) return `${(size / 1_000).toFixed(0)} kB`;
  return `${(size / 1_000_000).toFixed(1)} MB`;
}

/** Paths of changes, "orders/#W1/status", for people: what all of them have in common, and the rest of each. */
export function underOne(paths: readonly string[]): { common: string; names: string[] } {
  const parts = paths.map((path) => path.split("/"));
  const [first = []] = parts;
  const most = Math.min(first.length, ...parts.map((one) => one.length)) - 1;
  let same = 0;
  while (same < most && parts.every((one) => one[same] === first[same])) same++;
  return { common: first.slice(0, same).join(" › "), names: parts.map((one) => one.slice(same).join(" › ")) };
}

export function seconds(value: number): string {
  if (value < 0.01) return "under 0.01 s";
  return value < 10 ? `${value.toFixed(2)} s` : `${value.toFixed(0)} s`;
}
