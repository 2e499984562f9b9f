// Formats tool arguments and results for display. Pure.

/** Pretty-prints JSON, also if it is inside a string; other text stays unchanged. */
export function formatPretty(value: unknown): string {
  const document = parseIfJson(value);
  return typeof document === "string" ? document : (JSON.stringify(document, null, 2) ?? "");
}

/** The parsed JSON document, or the value itself. */
function parseIfJson(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/** One value in one line: text plain, a flat object as names and values, the rest as JSON. */
export function formatInline(value: unknown): string {
  if (value === undefined || value === null) return "–";
  if (typeof value === "string") return value || "“”";
  if (isObject(value) && Object.values(value).every(isScalar)) return formatFields(value);
  return JSON.stringify(value);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const isScalar = (value: unknown): boolean => typeof value !== "object" || value === null;

function formatFields(values: Record<string, unknown>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}: ${formatInline(value)}`)
    .join(" · ");
}

const MAX_LINES = 24;
const MAX_CHARACTERS = 3_000;

/** The beginning of a long text, cut at a line break if there is one. */
export function truncate(text: string): string {
  if (text.length <= MAX_CHARACTERS && lineCount(text) <= MAX_LINES) return text;
  const lines = text.slice(0, MAX_CHARACTERS).split("\n").slice(0, MAX_LINES);
  return lines.join("\n");
}

function lineCount(text: string): number {
  return text.split("\n").length;
}

export function formatBytes(size: number): string {
  if (size < 1_000) return `${size} bytes`;
  if (size < 1_000_000) return `${(size / 1_000).toFixed(0)} kB`;
  return `${(size / 1_000_000).toFixed(1)} MB`;
}

/** Splits paths such as "orders/#W1/status" into their common prefix and the rest of each. */
export function splitCommonPrefix(paths: readonly string[]): { common: string; names: string[] } {
  const parts = paths.map((path) => path.split("/"));
  const [first = []] = parts;
  const limit = Math.min(first.length, ...parts.map((part) => part.length)) - 1;
  let length = 0;
  while (length < limit && parts.every((part) => part[length] === first[length])) length++;
  return { common: first.slice(0, length).join(" › "), names: parts.map((part) => part.slice(length).join(" › ")) };
}

export function formatSeconds(value: number): string {
  if (value < 0.01) return "under 0.01 s";
  return value < 10 ? `${value.toFixed(2)} s` : `${value.toFixed(0)} s`;
}
