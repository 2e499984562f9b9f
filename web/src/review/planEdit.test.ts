import { expect, it } from "vitest";
import { add, begin, differs, moveTo, remove, restore, setText, stepsOf } from "./planEdit";

const step = (text: string) => ({ text, tool: null, arguments: null });
const plan = { version: 3, goal: "g", notes: "", steps: [step("one"), step("two"), step("three")] };
const texts = (edit: ReturnType<typeof begin>) => edit.steps.map(({ step: one }) => one.text);

it("begins without a difference", () => {
  expect(differs(begin(plan), plan)).toBe(false);
});

it("changes, adds, removes and moves steps, each by its key", () => {
  let edit = setText(begin(plan), 1, "TWO");
  edit = setText(add(edit, 0), 3, "new");
  expect(texts(edit)).toEqual(["one", "new", "TWO", "three"]);
  edit = moveTo(edit, 2, 0);
  expect(texts(edit)).toEqual(["three", "one", "new", "TWO"]);
  expect(texts(remove(edit, 0))).toEqual(["three", "new", "TWO"]);
  expect(differs(edit, plan)).toBe(true);
});

it("does not move a step out of the plan", () => {
  const edit = begin(plan);
  expect(moveTo(edit, 0, -1)).toBe(edit);
  expect(moveTo(edit, 2, 3)).toBe(edit);
});

it("sends no empty steps, and keeps tools and their arguments", () => {
  const tool = { text: " buy ", tool: "shop", arguments: { id: 1 } };
  expect(stepsOf(add(begin({ ...plan, steps: [tool] }), null))).toEqual([{ text: "buy", tool: "shop", arguments: { id: 1 } }]);
});

it("takes an older version up as an edit of the newest", () => {
  const restored = restore(begin(plan), { ...plan, version: 1, goal: "older" });
  expect([restored.base, restored.goal]).toEqual([3, "older"]);
});
