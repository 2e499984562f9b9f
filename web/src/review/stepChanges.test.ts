import { describe, expect, it } from "vitest";
import type { StepOutput } from "../protocol";
import { stepChanges } from "./stepChanges";

const step = (id: string, more: Partial<StepOutput> = {}): StepOutput => ({ id, text: `do ${id}`, tool: "look", arguments: { order: "#1" }, ...more });
const told = (before: StepOutput[], after: StepOutput[]) => stepChanges(before, after).map(({ step: one, what, parts }) => [one.id, what, ...parts.map(({ name, was, is }) => [name, was, is])]);

describe("what became of the steps", () => {
  it("names an argument that is another one", () => {
    expect(told([step("a"), step("b")], [step("a"), step("b", { arguments: { order: "#2" } })])).toEqual([
      ["a", "same"],
      ["b", "changed", ["order", "#1", "#2"]],
    ]);
  });

  it("tells tool, words and order, and arguments that came or went", () => {
    const after = step("a", { text: "see", tool: "see", after: ["b"], arguments: { why_so: null } });
    expect(told([step("a")], [after])).toEqual([
      ["a", "changed", ["text", "do a", "see"], ["tool", "look", "see"], ["comes after", undefined, "b"], ["order", "#1", undefined], ["why so", undefined, null]],
    ]);
  });

  it("knows steps by their ids, wherever they stand", () => {
    expect(told([step("a"), step("b"), step("c")], [step("c"), step("d"), step("a")])).toEqual([
      ["c", "same"],
      ["d", "new"],
      ["a", "moved"],
      ["b", "removed"],
    ]);
  });

  it("calls as few of them moved as it can", () => {
    const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => step(id)) as [StepOutput, StepOutput, StepOutput, StepOutput];
    expect(told([a, b, c, d], [d, a, b, c]).map(([, what]) => what)).toEqual(["moved", "same", "same", "same"]);
    expect(told([a, b, c], [a, b, c]).map(([, what]) => what)).toEqual(["same", "same", "same"]);
  });
});
