import { expect, it } from "vitest";
import { isCodeEdit, rebaseCode, startCodeEdit } from "./codeEdit";

const BASE = { version: 3, code: "a\nb\nc\nd\ne\n" };
const mine = (text: string) => ({ ...startCodeEdit(BASE), text });
const rebased = (text: string, code: string) => rebaseCode(mine(text), { version: 5, code }).text;

it("applies the same changes to a newer version", () => {
  const edit = rebaseCode(mine("a\nB\nc\nd\ne\n"), { version: 5, code: "a\nb\nc\nd\nE\nf\n" });
  expect(edit).toEqual({ base: { version: 5, code: "a\nb\nc\nd\nE\nf\n" }, text: "a\nB\nc\nd\nE\nf\n" });
});

it("keeps additions and deletions of both sides", () => {
  expect(rebased("new\na\nb\nc\nd\ne\n", "a\nb\nc\ne\n")).toBe("new\na\nb\nc\ne\n");
  expect(rebased("a\nc\nd\ne\n", "a\nb\nc\nd\nx\ne\n")).toBe("a\nc\nd\nx\ne\n");
});

it("applies a change that both sides made only once", () => {
  expect(rebased("a\nB\nc\nd\ne\n", "a\nB\nc\nd\nE\n")).toBe("a\nB\nc\nd\nE\n");
  expect(rebased("a\nb\nx\nc\nd\ne\n", "a\nb\nx\nc\nd\ne\n")).toBe("a\nb\nx\nc\nd\ne\n");
});

it("keeps both texts if both sides changed the same lines", () => {
  expect(rebased("a\nmine\nc\nd\ne\n", "a\ntheirs\nc\nd\ne\n")).toBe("a\nmine\ntheirs\nc\nd\ne\n");
  expect(rebased("a\nmine\nb\nc\nd\ne\n", "a\ntheirs\nc\nd\ne\n")).toBe("a\nmine\ntheirs\nc\nd\ne\n");
});

it("accepts only valid stored edits", () => {
  expect(isCodeEdit(null)).toBe(true);
  expect(isCodeEdit(startCodeEdit(BASE))).toBe(true);
  for (const other of ["text", 7, [], {}, { text: "a" }, { base: 3, text: "a" }, { base: { version: "3", code: "a" }, text: "a" }])
    expect(isCodeEdit(other)).toBe(false);
});
