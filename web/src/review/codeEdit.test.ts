import { expect, it } from "vitest";
import { beginCode, isCodeEdit } from "./codeEdit";

const BASE = { version: 3, code: "a\nb\nc\nd\ne\n" };

it("goes on only with what is an edit", () => {
  expect(isCodeEdit(null)).toBe(true);
  expect(isCodeEdit(beginCode(BASE))).toBe(true);
  for (const foreign of ["text", 7, [], {}, { text: "a" }, { base: 3, text: "a" }, { base: { version: "3", code: "a" }, text: "a" }])
    expect(isCodeEdit(foreign)).toBe(false);
});
