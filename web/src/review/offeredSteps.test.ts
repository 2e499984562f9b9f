import { expect, it } from "vitest";
import type { StepOutput } from "../protocol";
import { offeredSteps } from "./offeredSteps";

const step = (id: string, text: string): StepOutput => ({ id, text, tool: "get_order", arguments: { order_id: "#W1" } });
const PLAN = { steps: [step("s1", "Look it up"), step("s2", "Cancel it"), step("s3", "Tell them")] };

it("marks what a revision changes, adds and leaves out, with the numbers of the offered plan", () => {
  const { isRevision, rows } = offeredSteps({ steps: [step("s1", "Look it up"), step("s4", "Return it"), step("s3", "Tell her")] }, PLAN);
  expect(isRevision).toBe(true);
  expect(rows.map(({ step, what, number }) => [step.id, what, number])).toEqual([
    ["s1", "same", 1],
    ["s4", "new", 2],
    ["s3", "changed", 3],
    ["s2", "removed", null],
  ]);
  expect(rows[2]?.parts).toEqual([{ name: "text", before: "Tell them", after: "Tell her" }]);
});

it("lists another plan as it is", () => {
  for (const plan of [null, PLAN]) {
    const { isRevision, rows } = offeredSteps({ steps: [step("s9", "Count the customers")] }, plan);
    expect([isRevision, rows.length]).toEqual([false, 1]);
  }
});
