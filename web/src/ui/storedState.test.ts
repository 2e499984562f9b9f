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
  ["a missing value", null],
  ["invalid JSON", "{"],
  ["a number", "7"],
  ["a list", "[]"],
  ["an edit in an older release's format", JSON.stringify({ base: 3, goal: "g", notes: "", steps: ["one"], next: 1 })],
  ["an edit without steps", JSON.stringify({ ...EDIT, steps: null })],
  ["a step without text", JSON.stringify({ ...EDIT, steps: [{ key: 0, origin: null, step: {} }] })],
  ["a step without its origin", JSON.stringify({ ...EDIT, steps: [{ key: 0, step: EDIT.was.steps[0] }] })],
  ["an edit without its base version", JSON.stringify({ ...EDIT, was: { goal: "g", notes: "", steps: [] } })],
])("returns null for %s", (_, text) => {
  stubStorage(text);
  expect(readStored(KEY, isPlanEdit)).toBeNull();
});

it("returns null if the browser denies access to the storage", () => {
  vi.stubGlobal("sessionStorage", {
    getItem: () => {
      throw new DOMException("denied", "SecurityError");
    },
  });
  expect(readStored(KEY, isPlanEdit)).toBeNull();
});
