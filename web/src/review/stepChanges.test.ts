import { describe, expect, it } from "vitest";
import type { StepOutput } from "../protocol";
import { stepChanges } from "./stepChanges";

const step = (id: string, overrides: Partial<StepOutput> = {}): StepOutput => ({ id, text: `do ${id}`, tool: "look", arguments: { order: "#1" }, ...overrides });
const changes = (before: StepOutput[], after: StepOutput[]) => stepChanges(before, after).map(({ step, what, parts }) => [step.id, what, ...parts.map(({ name, before, after }) => [name, before, after])]);

describe("changes between two versions", () => {
  it("name a changed argument", () => {
    expect(changes([step("a"), step("b")], [step("a"), step("b", { arguments: { order: "#2" } })])).toEqual([
      ["a", "same"],
      ["b", "changed", ["order", "#1", "#2"]],
    ]);
  });

  it("name a changed tool, text and order, and added or removed arguments", () => {
    const after = step("a", { text: "see", tool: "see", after: ["b"], arguments: { why_so: null } });
    expect(changes([step("a")], [after])).toEqual([
      ["a", "changed", ["text", "do a", "see"], ["tool", "look", "see"], ["comes after", undefined, "b"], ["order", "#1", undefined], ["why so", undefined, null]],
    ]);
  });

  it("match steps by id, regardless of their position", () => {
    expect(changes([step("a"), step("b"), step("c")], [step("c"), step("d"), step("a")])).toEqual([
      ["c", "same"],
      ["d", "new"],
      ["a", "moved"],
      ["b", "removed"],
    ]);
  });

  it("mark the fewest possible steps as moved", () => {
    const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => step(id)) as [StepOutput, StepOutput, StepOutput, StepOutput];
    expect(changes([a, b, c, d], [d, a, b, c]).map(([, what]) => what)).toEqual(["moved", "same", "same", "same"]);
    expect(changes([a, b, c], [a, b, c]).map(([, what]) => what)).toEqual(["same", "same", "same"]);
  });
});
