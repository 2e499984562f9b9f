import { expect, test } from "vitest";
import { parseStepOutput } from "./stepOutput";

test("JSON is parsed, other text is taken literally", () => {
  const inputs = ['{"a": [1, null]}', " [1] ", "12", "false", '"12"', "as I remember it", "#W1 {x}"];
  expect(inputs.map((text) => parseStepOutput(text).value)).toEqual([{ a: [1, null] }, [1], 12, false, "12", "as I remember it", "#W1 {x}"]);
  expect(inputs.map((text) => parseStepOutput(text).problem)).toEqual(inputs.map(() => ""));
});

test("broken JSON and empty output are refused with a reason", () => {
  for (const typed of ['{"a": ', "[1", '"open', "", "  ", "null"]) expect(parseStepOutput(typed).problem).not.toBe("");
});
