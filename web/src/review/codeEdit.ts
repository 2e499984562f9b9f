// A person's own version of the code while it is being made. Pure.
import { diff } from "@codemirror/merge";
import type { CodeView } from "../protocol";
import { isObject } from "../flow/found";

/** The text being edited, and the version that it changes. */
export interface CodeEdit {
  base: Content;
  text: string;
}

type Content = Pick<CodeView, "version" | "code">;

export function beginCode({ version, code }: Content): CodeEdit {
  return { base: { version, code }, text: code };
}

/** True where it can be gone on with; it may come from a storage. */
export function isCodeEdit(value: unknown): value is CodeEdit | null {
  if (value === null) return true;
  if (!isObject(value) || typeof value.text !== "string" || !isObject(value.base)) return false;
  return Number.isInteger(value.base.version) && typeof value.base.code === "string";
}

/** Lines `from` to before `to` of the base, and what stands there instead. */
interface Hunk {
  from: number;
  to: number;
  lines: string[];
}

/**
 * The same changes made to a newer version. Where both changed the same lines, the person's stand before the newer
 * version's: nothing that was typed is lost, and the comparison with the newer version shows both.
 */
export function rebaseCode(edit: CodeEdit, newer: Content): CodeEdit {
  const base = lines(edit.base.code);
  const mine = hunks(base, lines(edit.text));
  const theirs = hunks(base, lines(newer.code));
  const merged: string[] = [];
  let at = 0;
  for (let first = next(mine, theirs); first; first = next(mine, theirs)) {
    const own: Hunk[] = [];
    const other: Hunk[] = [];
    const { from } = first;
    let to = first.to;
    // Changes of both that reach into one another are settled together.
    for (let grew = true; grew; ) {
      grew = false;
      for (const [left, taken] of [[mine, own], [theirs, other]] as const)
        for (let hunk = left[0]; hunk && (hunk.from < to || (hunk.from === from && hunk.to <= to)); hunk = left[0]) {
          taken.push(hunk);
          left.shift();
          to = Math.max(to, hunk.to);
          grew = true;
        }
    }
    const ours = patched(base, from, to, own);
    const newest = patched(base, from, to, other);
    merged.push(...base.slice(at, from), ...(own.length ? ours : []), ...(other.length && !(own.length && same(ours, newest)) ? newest : []));
    at = to;
  }
  merged.push(...base.slice(at));
  return { base: { version: newer.version, code: newer.code }, text: merged.join("\n") };
}

/** The change that comes first; of two at one place, the one that takes fewer lines away. */
function next(mine: Hunk[], theirs: Hunk[]): Hunk | undefined {
  const [one, other] = [mine[0], theirs[0]];
  if (!one || !other) return one ?? other;
  return one.from < other.from || (one.from === other.from && one.to <= other.to) ? one : other;
}

function lines(text: string): string[] {
  return text.split("\n");
}

/** What differs, by lines: each distinct line is one character to the comparison. */
function hunks(before: string[], after: string[]): Hunk[] {
  const known = new Map<string, string>();
  const coded = (all: string[]) =>
    all
      .map((line) => {
        const character = known.get(line) ?? String.fromCharCode(known.size + 1);
        known.set(line, character);
        return character;
      })
      .join("");
  return diff(coded(before), coded(after)).map(({ fromA, toA, fromB, toB }) => ({ from: fromA, to: toA, lines: after.slice(fromB, toB) }));
}

function patched(base: string[], from: number, to: number, hunks: Hunk[]): string[] {
  const result: string[] = [];
  let at = from;
  for (const hunk of hunks) {
    result.push(...base.slice(at, hunk.from), ...hunk.lines);
    at = hunk.to;
  }
  return [...result, ...base.slice(at, to)];
}

function same(one: string[], other: string[]): boolean {
  return one.length === other.length && one.every((line, index) => line === other[index]);
}
