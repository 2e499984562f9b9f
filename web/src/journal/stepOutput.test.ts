import { expect, test } from "vitest";
import { parseStepOutput } from "./stepOutput";

test("a step output is parsed if it is JSON, and otherwise used as plain text", () => {
  const inputs = ['{"a": [1, null]}', " [1] ", "12", "false", '"12"', "as I remember it", "#W1 {x}"];
  expect(inputs.map((text) => parseStepOutput(text).value)).toEqual([{ a: [1, null] }, [1], 12, false, "12", "as I remember it", "#W1 {x}"]);
  expect(inputs.map((text) => parseStepOutput(text).problem)).toEqual(inputs.map(() => ""));
});

test("invalid JSON, null and empty output are refused with a reason", () => {
  for (const text of ['{"a": ', "[1", '"open', "", "  ", "null"]) expect(parseStepOutput(text).problem).not.toBe("");
});
