import { expect, it } from "vitest";
import { add, argumentOf, begin, differs, freshId, moveTo, needsOf, numbersOf, rebase, referred, remove, restore, setArgument, setStep, setText, stepsOf } from "./planEdit";

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

const later = (...steps: string[]) => ({ ...plan, version: 5, steps: steps.map(step) });

it("makes the same changes to a newer version", () => {
  let edit = setText(begin(plan), 1, "TWO");
  edit = setText(add(edit, 2), 3, "after three");
  edit = { ...remove(edit, 0), notes: "mine" };
  const moved = rebase(edit, { ...later("one", "new here", "two", "three"), goal: "their goal" });
  expect(texts(moved)).toEqual(["new here", "TWO", "three", "after three"]);
  expect(differs(moved, moved.was)).toBe(true);
  expect(moved).toMatchObject({ base: 5, goal: "their goal", notes: "mine" });
});

it("keeps both where both have changed the same step", () => {
  expect(texts(rebase(setText(begin(plan), 1, "mine"), later("one", "theirs", "three")))).toEqual(["one", "theirs", "mine", "three"]);
});

it("keeps an order that the person made, and steps of one's own at the beginning", () => {
  expect(texts(rebase(moveTo(begin(plan), 2, 0), later("one", "two", "three", "four")))).toEqual(["three", "one", "two", "four"]);
  const first = moveTo(setText(add(begin(plan), null), 3, "first"), 3, 0);
  expect(texts(rebase(first, later("one", "two", "three", "four")))).toEqual(["first", "one", "two", "three", "four"]);
});

it("does not take one step for another that says the same", () => {
  const twice = { ...plan, steps: ["print", "read", "print"].map(step) };
  const edit = setText(begin(twice), 2, "print total");
  expect(texts(rebase(edit, later("print", "read", "print", "stop")))).toEqual(["print", "read", "print total", "stop"]);
});

it("loses nothing of an older version that was taken up again", () => {
  const edit = restore(begin(plan), { ...plan, version: 1, steps: ["old a", "two"].map(step) });
  const moved = rebase(edit, later("one", "two", "three", "four"));
  expect(texts(moved)).toEqual(["four", "old a", "two"]);
});

it("can be made again, to a version that is newer still", () => {
  const once = rebase(setText(add(begin(plan), 0), 3, "NEW"), later("one", "two", "three", "four"));
  expect(texts(once)).toEqual(["one", "NEW", "two", "three", "four"]);
  expect(texts(rebase(once, { ...later("X", "one", "two", "three", "four"), version: 7 }))).toEqual(["X", "one", "NEW", "two", "three", "four"]);
});

it("lets go of what the newer version took out and the person left alone", () => {
  expect(texts(rebase(setText(begin(plan), 0, "ONE"), later("one", "three")))).toEqual(["ONE", "three"]);
});

it("changes an argument of one step, and of what kind it was it stays", () => {
  const acting = { ...plan, steps: [{ ...step("pay"), tool: "pay", arguments: { sum: 20, to: "42", at: "{{steps.s1.output.day}}" } }] };
  const edit = setArgument(begin(acting), 0, "sum", argumentOf("25", 20));
  expect(stepsOf(edit)[0]?.arguments).toEqual({ sum: 25, to: "42", at: "{{steps.s1.output.day}}" });
  expect(argumentOf("43", "42")).toBe("43");
  expect(argumentOf("7", "{{steps.s1.output.day}}")).toBe(7); // nobody knows of which kind that was
  expect(argumentOf("{", { a: 1 })).toBe("{"); // refused in words when it is saved
});

it("tells references from the text around them", () => {
  expect(referred("pay {{steps.s1.output.orders[0].sum}} for {{steps.s2.output}}")).toEqual(["pay ", { step: "s1", path: "orders[0].sum" }, " for ", { step: "s2", path: "" }]);
  expect(referred("{{steps.s1}} and {{params.x}}")).toEqual(["{{steps.s1}} and {{params.x}}"]);
  expect(referred("{{item.name}} of {{ item }}")).toEqual([{ step: null, path: "name" }, " of ", { step: null, path: "" }]);
});

const acting = (id: string, more = {}) => ({ ...step(id), id, tool: "look", arguments: {}, ...more });

it("gives a new step an id that no step has, or had", () => {
  const edit = begin({ ...plan, steps: [acting("s1"), acting("s7"), acting("mine")] });
  expect(freshId(edit, [])).toBe("s8");
  expect(freshId(edit, [{ steps: [acting("s12")] }])).toBe("s13");
  expect(freshId(remove(edit, 1), [])).toBe("s8"); // the version that is being changed still has it
});

it("puts a new step at the end, and a changed one where it was", () => {
  let edit = setStep(begin({ ...plan, steps: [acting("s1")] }), 1, acting("s2", { after: ["s1"] }));
  edit = setStep(edit, 0, acting("s1", { tool: "pay" }));
  expect(edit.steps.map(({ step: one }) => [one.id, one.tool])).toEqual([["s1", "pay"], ["s2", "look"]]);
  expect(edit.next).toBe(2);
  expect(numbersOf(["s2", "s9", "s1"], edit.steps)).toEqual([2, 1]);
});

it("needs the steps that it comes after, and those whose results it uses, each once", () => {
  expect(needsOf(acting("s4", { for_each: "{{steps.s2.output.rows}}", arguments: { a: "{{item.id}}" } }))).toEqual(["s2"]);
  expect(needsOf(acting("s3", { after: ["s1"], arguments: { a: ["{{ steps.s2.output.x }}"], b: "{{steps.s1.output}}" } }))).toEqual(["s1", "s2"]);
});

it("is no other step for what the gateway adds to it", () => {
  const edit = setStep(begin({ ...plan, steps: [acting("s1")] }), 1, acting("s2", { after: [], policy: null, effect: "read" }));
  expect(differs(edit, { ...plan, steps: [acting("s1", { effect: "read" }), acting("s2", { effect: "write" })] })).toBe(false);
  expect(differs(edit, { ...plan, steps: [acting("s1"), acting("s2", { after: ["s1"] })] })).toBe(true);
  expect(differs(edit, { ...plan, steps: [acting("s1"), acting("s2", { for_each: "{{steps.s1.output}}" })] })).toBe(true);
});

it("keeps a changed argument when a newer version comes", () => {
  const base = { ...plan, steps: [acting("s1"), acting("s2")] };
  const moved = rebase(setArgument(begin(base), 0, "id", "mine"), { ...base, version: 9, steps: [acting("s1"), acting("s2"), acting("s3")] });
  expect(moved.steps[0]?.step.arguments).toEqual({ id: "mine" });
  expect(moved.steps.map(({ step: one }) => one.id)).toEqual(["s1", "s2", "s3"]);
});

it("takes what the newer version says of a step that the person left alone, and never has a step twice", () => {
  const base = { ...plan, steps: [acting("s1"), acting("s2")] };
  const newer = { ...base, version: 9, steps: [acting("s1", { text: "theirs" }), acting("s2", { arguments: { id: "theirs" } })] };
  const moved = rebase(setText(begin(base), 0, "mine"), newer);
  expect(stepsOf(moved).map(({ id, text, arguments: given }) => [id, text, given])).toEqual([["s1", "mine", {}], ["s2", "s2", { id: "theirs" }]]);
});
