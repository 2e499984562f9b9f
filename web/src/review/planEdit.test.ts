import { expect, it } from "vitest";
import { add, begin, differs, moveTo, rebase, remove, restore, setText, stepsOf } from "./planEdit";

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

it("makes the same changes to a newer version", () => {
  const newer = { ...plan, version: 5, goal: "their goal", steps: [step("one"), step("new here"), step("two"), step("three")] };
  let edit = setText(begin(plan), 1, "TWO");
  edit = setText(add(edit, 2), 3, "after three");
  edit = { ...remove(edit, 0), notes: "mine" };
  const moved = rebase(edit, newer);
  expect(texts(moved)).toEqual(["new here", "TWO", "three", "after three"]);
  expect(differs(moved, moved.was)).toBe(true);
  expect(moved).toMatchObject({ base: 5, goal: "their goal", notes: "mine" });
});

it("keeps both where both have changed the same step", () => {
  const newer = { ...plan, version: 5, steps: [step("one"), step("two of theirs"), step("three")] };
  expect(texts(rebase(setText(begin(plan), 1, "two of mine"), newer))).toEqual(["one", "two of mine", "two of theirs", "three"]);
});

it("adds a step of one's own at the beginning of a newer version, too", () => {
  const edit = moveTo(setText(add(begin(plan), null), 3, "first"), 3, 0);
  expect(texts(rebase(edit, { ...plan, version: 5, steps: [step("one"), step("two"), step("three"), step("four")] }))).toEqual(["first", "one", "two", "three", "four"]);
});
