import { expect, it } from "vitest";
import type { SessionEvent } from "../protocol";
import type { Snapshot } from "./state";
import { codeVersions, planVersions } from "./versions";

const at = "2026-01-01T00:00:00Z";
const planDrafted = (version: number, number: number) => ({ type: "plan.drafted", version, number, at, actor: "planner", goal: `g${version}`, steps: [], notes: "" }) as unknown as SessionEvent;
const withPlan = (version: number, number: number) => ({ plan: { version, number, goal: "", steps: [], notes: "", by: "planner" } }) as unknown as Snapshot;

it("numbers plan versions in order", () => {
  expect(planVersions([planDrafted(2, 1), planDrafted(5, 2)], withPlan(5, 2)).map((version) => [version.version, version.number])).toEqual([[2, 1], [5, 2]]);
});

it("starts a fork with its parent's version number, and continues from it", () => {
  expect(planVersions([], withPlan(7, 3)).map((version) => version.number)).toEqual([3]);
  expect(planVersions([planDrafted(9, 4)], withPlan(9, 4)).map((version) => version.number)).toEqual([4]);
});

it("attaches checks and tests to the code version that they are for", () => {
  const code = { type: "code.drafted", version: 3, number: 1, at, actor: "generator", code: "x", explanation: "" } as unknown as SessionEvent;
  const verified = { type: "code.verified", version: 4, at, actor: "verifier", code_version: 3, checks: [{ name: "tests", ok: true, detail: "" }], tests: "t" } as unknown as SessionEvent;
  expect(codeVersions([code, verified], null)).toMatchObject([{ version: 3, number: 1, tests: "t", checks: [{ name: "tests" }] }]);
});

it("names the service as the author of an offer that a user took", () => {
  const taken = { ...planDrafted(5, 2), actor: "user:ada", offer: 4 } as unknown as SessionEvent;
  expect(planVersions([planDrafted(2, 1), taken], null).map(({ by }) => by)).toEqual(["planner", "planner"]);
});
