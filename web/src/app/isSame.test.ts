import { expect, it } from "vitest";
import { isSame } from "./isSame";

it.each([
  [1, 1],
  [Number.NaN, Number.NaN],
  [["a"], ["a"]],
  [{ a: 1, b: undefined }, { a: 1, b: undefined }],
])("%o and %o are the same", (a, b) => {
  expect(isSame(a, b)).toBe(true);
});

it.each([
  [1, "1"],
  [["a"], ["a", "b"]],
  [[], {}],
  [{ a: 1, b: undefined }, { a: 1, c: undefined }],
  [{ a: {} }, { a: {} }],
  [new Map(), new Map([["a", 1]])],
])("%o and %o are not the same", (a, b) => {
  expect(isSame(a, b)).toBe(false);
});
