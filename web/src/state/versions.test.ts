import { expect, it } from "vitest";
import { journalOf } from "../journal/testEntries";
import type { JournalEntry } from "../protocol";
import type { Snapshot } from "./state";
import { codeVersions, planVersions } from "./versions";

const at = "2026-01-01T00:00:00Z";
const planEntry = (version: number, number: number): JournalEntry => ({ kind: "plan", key: `plan:${version}`, version, number, at, by: "planner", title: "", summary: "", goal: "", steps: [], path: null });
const withPlan = (version: number, number: number) => ({ plan: { version, number, goal: "", steps: [], notes: "", by: "planner" } }) as unknown as Snapshot;

it("numbers plan versions in order", () => {
  expect(planVersions(journalOf(planEntry(2, 1), planEntry(5, 2)), withPlan(5, 2)).map((version) => [version.version, version.number])).toEqual([[2, 1], [5, 2]]);
});

it("starts a fork with its parent's version number, and continues from it", () => {
  expect(planVersions(journalOf(), withPlan(7, 3)).map((version) => version.number)).toEqual([3]);
  expect(planVersions(journalOf(planEntry(9, 4)), withPlan(9, 4)).map((version) => version.number)).toEqual([4]);
});

it("lists code versions with their checks and tests", () => {
  const code: JournalEntry = { kind: "code", key: "code:3", version: 3, number: 1, at, by: "generator", title: "", summary: "", code: "x", checks: [{ name: "tests", ok: true, detail: "" }], tests: "t" };
  expect(codeVersions(journalOf(code), null)).toMatchObject([{ version: 3, number: 1, explanation: "", tests: "t", checks: [{ name: "tests" }] }]);
});
