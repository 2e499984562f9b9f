import { expect, test } from "vitest";
import { givenOutput } from "./givenOutput";

test("JSON is taken as what it says, other words as they are", () => {
  const typed = ['{"a": [1, null]}', " [1] ", "12", "false", '"12"', "as I remember it", "#W1 {x}"];
  expect(typed.map((one) => givenOutput(one).value)).toEqual([{ a: [1, null] }, [1], 12, false, "12", "as I remember it", "#W1 {x}"]);
  expect(typed.map((one) => givenOutput(one).problem)).toEqual(typed.map(() => ""));
});

test("what is meant as JSON and cannot be read, and what is no output, says so", () => {
  for (const typed of ['{"a": ', "[1", '"open', "", "  ", "null"]) expect(givenOutput(typed).problem).not.toBe("");
});
