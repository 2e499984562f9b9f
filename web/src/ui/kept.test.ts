import { afterEach, expect, it, vi } from "vitest";
import { readKept } from "./kept";
import { begin, isPlanEdit } from "../review/planEdit";

const KEY = "parley.edit.plan.one";
const EDIT = begin({ version: 3, goal: "g", notes: "", steps: [{ text: "one", tool: null, arguments: null }] });

function stored(text: string | null): void {
  vi.stubGlobal("sessionStorage", { getItem: (key: string) => (key === KEY ? text : null) });
}

afterEach(() => vi.unstubAllGlobals());

it("takes up again what was kept", () => {
  stored(JSON.stringify(EDIT));
  expect(readKept(KEY, isPlanEdit)).toEqual(EDIT);
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
  stored(text);
  expect(readKept(KEY, isPlanEdit)).toBeNull();
});

it("does without a storage that may not be read", () => {
  vi.stubGlobal("sessionStorage", {
    getItem: () => {
      throw new DOMException("denied", "SecurityError");
    },
  });
  expect(readKept(KEY, isPlanEdit)).toBeNull();
});
