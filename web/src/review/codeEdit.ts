// A user's edit of the code. Pure.
import { diff } from "@codemirror/merge";
import type { CodeView } from "../protocol";
import { isObject } from "../ui/values";

/** The edited text, and the version it is based on. */
export interface CodeEdit {
  base: CodeContent;
  text: string;
}

type CodeContent = Pick<CodeView, "version" | "code">;

export function startCodeEdit({ version, code }: CodeContent): CodeEdit {
  return { base: { version, code }, text: code };
}

/** Type guard for stored values; null means no edit. */
export function isCodeEdit(value: unknown): value is CodeEdit | null {
  if (value === null) return true;
  if (!isObject(value) || typeof value.text !== "string" || !isObject(value.base)) return false;
  return Number.isInteger(value.base.version) && typeof value.base.code === "string";
}

/** Replaces lines `from` up to `to` (exclusive) of the base. */
interface Hunk {
  from: number;
  to: number;
  lines: string[];
}

/**
 * Applies the same changes to a newer version. If both sides changed the same lines, the user's lines come before the
 * newer ones: nothing typed is lost, and the comparison with the newer version shows both.
 */
export function rebaseCode(edit: CodeEdit, newer: CodeContent): CodeEdit {
  const base = lines(edit.base.code);
  const mine = diffHunks(base, lines(edit.text));
  const theirs = diffHunks(base, lines(newer.code));
  const merged: string[] = [];
  let position = 0;
  for (let first = nextHunk(mine, theirs); first; first = nextHunk(mine, theirs)) {
    const own: Hunk[] = [];
    const other: Hunk[] = [];
    const { from } = first;
    let to = first.to;
    // Overlapping changes of both sides are merged together.
    for (let hasGrown = true; hasGrown; ) {
      hasGrown = false;
      for (const [pending, taken] of [[mine, own], [theirs, other]] as const)
        for (let hunk = pending[0]; hunk && (hunk.from < to || (hunk.from === from && hunk.to <= to)); hunk = pending[0]) {
          taken.push(hunk);
          pending.shift();
          to = Math.max(to, hunk.to);
          hasGrown = true;
        }
    }
    const ours = applyHunks(base, from, to, own);
    const newest = applyHunks(base, from, to, other);
    merged.push(...base.slice(position, from), ...(own.length ? ours : []), ...(other.length && !(own.length && sameLines(ours, newest)) ? newest : []));
    position = to;
  }
  merged.push(...base.slice(position));
  return { base: { version: newer.version, code: newer.code }, text: merged.join("\n") };
}

/** The next change by position; of two at one place, the one that removes fewer lines. */
function nextHunk(mine: Hunk[], theirs: Hunk[]): Hunk | undefined {
  const [own, other] = [mine[0], theirs[0]];
  if (!own || !other) return own ?? other;
  return own.from < other.from || (own.from === other.from && own.to <= other.to) ? own : other;
}

function lines(text: string): string[] {
  return text.split("\n");
}

/** The line differences: each distinct line is encoded as one character for the diff. */
function diffHunks(before: string[], after: string[]): Hunk[] {
  const characters = new Map<string, string>();
  const encode = (lines: string[]) =>
    lines
      .map((line) => {
        const character = characters.get(line) ?? String.fromCharCode(characters.size + 1);
        characters.set(line, character);
        return character;
      })
      .join("");
  return diff(encode(before), encode(after)).map(({ fromA, toA, fromB, toB }) => ({ from: fromA, to: toA, lines: after.slice(fromB, toB) }));
}

function applyHunks(base: string[], from: number, to: number, hunks: Hunk[]): string[] {
  const result: string[] = [];
  let position = from;
  for (const hunk of hunks) {
    result.push(...base.slice(position, hunk.from), ...hunk.lines);
    position = hunk.to;
  }
  return [...result, ...base.slice(position, to)];
}

function sameLines(left: string[], right: string[]): boolean {
  return left.length === right.length && left.every((line, index) => line === right[index]);
}
