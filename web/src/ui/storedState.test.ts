import { afterEach, expect, it, vi } from "vitest";
import { isPlanEdit, startPlanEdit } from "../review/planEdit";
import { readStored } from "./storedState";

const KEY = "parley.edit.plan.one";
const EDIT = startPlanEdit({ version: 3, goal: "g", notes: "", steps: [{ text: "one", tool: null, arguments: null }] });

function stubStorage(text: string | null): void {
  vi.stubGlobal("sessionStorage", { getItem: (key: string) => (key === KEY ? text : null) });
}

afterEach(() => vi.unstubAllGlobals());

it("restores a stored value", () => {
  stubStorage(JSON.stringify(EDIT));
  expect(readStored(KEY, isPlanEdit)).toEqual(EDIT);
});

it.each([
  ["nothing", null],
  ["no JSON", "{"],
  ["another kind of value", "7"],
  ["a list", "[]"],
  ["what an older release kept", JSON.stringify({ base: 3, goal: "g", notes: "", steps: ["one"], next: 1 })],
  ["no steps", JSON.stringify({ ...EDIT, steps: null })],
  ["a step without text", JSON.stringify({ ...EDIT, steps: [{ key: 0, origin: null, step: {} }] })],
  ["a step without its origin", JSON.stringify({ ...EDIT, steps: [{ key: 0, step: EDIT.was.steps[0] }] })],
  ["no version that it changes", JSON.stringify({ ...EDIT, was: { goal: "g", notes: "", steps: [] } })],
])("drops %s", (_, text) => {
  stubStorage(text);
  expect(readStored(KEY, isPlanEdit)).toBeNull();
});

it("works if the storage cannot be read", () => {
  vi.stubGlobal("sessionStorage", {
    getItem: () => {
      throw new DOMException("denied", "SecurityError");
    },
  });
  expect(readStored(KEY, isPlanEdit)).toBeNull();
});
