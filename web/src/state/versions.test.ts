import { expect, it } from "vitest";
import type { SessionEvent } from "../protocol";
import type { Snapshot } from "./state";
import { codeVersions, planVersions } from "./versions";

const at = "2026-01-01T00:00:00Z";
const drafted = (version: number, number: number) => ({ type: "plan.drafted", version, number, at, actor: "planner", goal: `g${version}`, steps: [], notes: "" }) as unknown as SessionEvent;
const withPlan = (version: number, number: number) => ({ plan: { version, number, goal: "", steps: [], notes: "", by: "planner" } }) as unknown as Snapshot;

it("numbers the versions of a plan as they came", () => {
  expect(planVersions([drafted(2, 1), drafted(5, 2)], withPlan(5, 2)).map((one) => [one.version, one.number])).toEqual([[2, 1], [5, 2]]);
});

it("begins a fork with its parent's version and counts on", () => {
  expect(planVersions([], withPlan(7, 3)).map((one) => one.number)).toEqual([3]);
  expect(planVersions([drafted(9, 4)], withPlan(9, 4)).map((one) => one.number)).toEqual([4]);
});

it("puts checks with the code they are of", () => {
  const code = { type: "code.drafted", version: 3, number: 1, at, actor: "generator", code: "x", explanation: "" } as unknown as SessionEvent;
  const verified = { type: "code.verified", version: 4, at, actor: "verifier", code_version: 3, checks: [{ name: "tests", ok: true, detail: "" }], tests: "t" } as unknown as SessionEvent;
  expect(codeVersions([code, verified], null)).toMatchObject([{ version: 3, number: 1, tests: "t", checks: [{ name: "tests" }] }]);
});
