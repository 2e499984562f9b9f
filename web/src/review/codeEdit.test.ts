import { expect, it } from "vitest";
import { isCodeEdit, rebaseCode, startCodeEdit } from "./codeEdit";

const BASE = { version: 3, code: "a\nb\nc\nd\ne\n" };
const editedTo = (text: string) => ({ ...startCodeEdit(BASE), text });
const rebased = (text: string, code: string) => rebaseCode(editedTo(text), { version: 5, code }).text;

it("applies the user's changes to a newer version of the code", () => {
  const edit = rebaseCode(editedTo("a\nB\nc\nd\ne\n"), { version: 5, code: "a\nb\nc\nd\nE\nf\n" });
  expect(edit).toEqual({ base: { version: 5, code: "a\nb\nc\nd\nE\nf\n" }, text: "a\nB\nc\nd\nE\nf\n" });
});

it("keeps the additions and deletions of the user and of the newer version", () => {
  expect(rebased("new\na\nb\nc\nd\ne\n", "a\nb\nc\ne\n")).toBe("new\na\nb\nc\ne\n");
  expect(rebased("a\nc\nd\ne\n", "a\nb\nc\nd\nx\ne\n")).toBe("a\nc\nd\nx\ne\n");
});

it("applies a change once if the user and the newer version both made it", () => {
  expect(rebased("a\nB\nc\nd\ne\n", "a\nB\nc\nd\nE\n")).toBe("a\nB\nc\nd\nE\n");
  expect(rebased("a\nb\nx\nc\nd\ne\n", "a\nb\nx\nc\nd\ne\n")).toBe("a\nb\nx\nc\nd\ne\n");
});

it("keeps both texts, the user's first, if the newer version changed the same lines", () => {
  expect(rebased("a\nmine\nc\nd\ne\n", "a\ntheirs\nc\nd\ne\n")).toBe("a\nmine\ntheirs\nc\nd\ne\n");
  expect(rebased("a\nmine\nb\nc\nd\ne\n", "a\ntheirs\nc\nd\ne\n")).toBe("a\nmine\ntheirs\nc\nd\ne\n");
});

it("accepts only valid stored edits", () => {
  expect(isCodeEdit(null)).toBe(true);
  expect(isCodeEdit(startCodeEdit(BASE))).toBe(true);
  for (const invalid of ["text", 7, [], {}, { text: "a" }, { base: 3, text: "a" }, { base: { version: "3", code: "a" }, text: "a" }])
    expect(isCodeEdit(invalid)).toBe(false);
});
