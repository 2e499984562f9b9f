import { expect, it } from "vitest";
import { addStep, differs, freshId, moveStep, parseArgument, rebase, removeStep, restoreVersion, setArgument, setStep, setText, splitReferences, startPlanEdit, stepNeeds, stepNumbers, stepsOf } from "./planEdit";

const step = (text: string) => ({ text, tool: null, arguments: null });
const plan = { version: 3, goal: "g", notes: "", steps: [step("one"), step("two"), step("three")] };
const texts = (edit: ReturnType<typeof startPlanEdit>) => edit.steps.map(({ step }) => step.text);

it("starts without changes", () => {
  expect(differs(startPlanEdit(plan), plan)).toBe(false);
});

it("changes, adds, removes and moves steps by key", () => {
  let edit = setText(startPlanEdit(plan), 1, "TWO");
  edit = setText(addStep(edit, 0), 3, "new");
  expect(texts(edit)).toEqual(["one", "new", "TWO", "three"]);
  edit = moveStep(edit, 2, 0);
  expect(texts(edit)).toEqual(["three", "one", "new", "TWO"]);
  expect(texts(removeStep(edit, 0))).toEqual(["three", "new", "TWO"]);
  expect(differs(edit, plan)).toBe(true);
});

it("does not move a step outside the plan", () => {
  const edit = startPlanEdit(plan);
  expect(moveStep(edit, 0, -1)).toBe(edit);
  expect(moveStep(edit, 2, 3)).toBe(edit);
});

it("sends no empty steps, and keeps tools and arguments", () => {
  const tool = { text: " buy ", tool: "shop", arguments: { id: 1 } };
  expect(stepsOf(addStep(startPlanEdit({ ...plan, steps: [tool] }), null))).toEqual([{ text: "buy", tool: "shop", arguments: { id: 1 } }]);
});

it("restores an older version as an edit of the newest", () => {
  const restored = restoreVersion(startPlanEdit(plan), { ...plan, version: 1, goal: "older" });
  expect([restored.base, restored.goal]).toEqual([3, "older"]);
});

const later = (...steps: string[]) => ({ ...plan, version: 5, steps: steps.map(step) });

it("applies the same changes to a newer version", () => {
  let edit = setText(startPlanEdit(plan), 1, "TWO");
  edit = setText(addStep(edit, 2), 3, "after three");
  edit = { ...removeStep(edit, 0), notes: "mine" };
  const moved = rebase(edit, { ...later("one", "new here", "two", "three"), goal: "their goal" });
  expect(texts(moved)).toEqual(["new here", "TWO", "three", "after three"]);
  expect(differs(moved, moved.was)).toBe(true);
  expect(moved).toMatchObject({ base: 5, goal: "their goal", notes: "mine" });
});

it("keeps both if both sides changed the same step", () => {
  expect(texts(rebase(setText(startPlanEdit(plan), 1, "mine"), later("one", "theirs", "three")))).toEqual(["one", "theirs", "mine", "three"]);
});

it("keeps the user's order, and added steps at the beginning", () => {
  expect(texts(rebase(moveStep(startPlanEdit(plan), 2, 0), later("one", "two", "three", "four")))).toEqual(["three", "one", "two", "four"]);
  const first = moveStep(setText(addStep(startPlanEdit(plan), null), 3, "first"), 3, 0);
  expect(texts(rebase(first, later("one", "two", "three", "four")))).toEqual(["first", "one", "two", "three", "four"]);
});

it("does not confuse steps with the same text", () => {
  const twice = { ...plan, steps: ["print", "read", "print"].map(step) };
  const edit = setText(startPlanEdit(twice), 2, "print total");
  expect(texts(rebase(edit, later("print", "read", "print", "stop")))).toEqual(["print", "read", "print total", "stop"]);
});

it("loses nothing of a restored version", () => {
  const edit = restoreVersion(startPlanEdit(plan), { ...plan, version: 1, steps: ["old a", "two"].map(step) });
  const moved = rebase(edit, later("one", "two", "three", "four"));
  expect(texts(moved)).toEqual(["four", "old a", "two"]);
});

it("can be rebased again, to an even newer version", () => {
  const once = rebase(setText(addStep(startPlanEdit(plan), 0), 3, "NEW"), later("one", "two", "three", "four"));
  expect(texts(once)).toEqual(["one", "NEW", "two", "three", "four"]);
  expect(texts(rebase(once, { ...later("X", "one", "two", "three", "four"), version: 7 }))).toEqual(["X", "one", "NEW", "two", "three", "four"]);
});

it("drops steps that the newer version removed and the user left unchanged", () => {
  expect(texts(rebase(setText(startPlanEdit(plan), 0, "ONE"), later("one", "three")))).toEqual(["ONE", "three"]);
});

it("changes an argument of one step, and keeps its type", () => {
  const acting = { ...plan, steps: [{ ...step("pay"), tool: "pay", arguments: { sum: 20, to: "42", at: "{{steps.s1.output.day}}" } }] };
  const edit = setArgument(startPlanEdit(acting), 0, "sum", parseArgument("25", 20));
  expect(stepsOf(edit)[0]?.arguments).toEqual({ sum: 25, to: "42", at: "{{steps.s1.output.day}}" });
  expect(parseArgument("43", "42")).toBe("43");
  expect(parseArgument("7", "{{steps.s1.output.day}}")).toBe(7); // the type of a referenced value is unknown
  expect(parseArgument("{", { a: 1 })).toBe("{"); // saving refuses it with a message
});

it("separates references from the text around them", () => {
  expect(splitReferences("pay {{steps.s1.output.orders[0].sum}} for {{steps.s2.output}}")).toEqual(["pay ", { step: "s1", path: "orders[0].sum" }, " for ", { step: "s2", path: "" }]);
  expect(splitReferences("{{steps.s1}} and {{params.x}}")).toEqual(["{{steps.s1}} and {{params.x}}"]);
  expect(splitReferences("{{item.name}} of {{ item }}")).toEqual([{ step: null, path: "name" }, " of ", { step: null, path: "" }]);
});

const acting = (id: string, more = {}) => ({ ...step(id), id, tool: "look", arguments: {}, ...more });

it("gives a new step an id that no step has or had", () => {
  const edit = startPlanEdit({ ...plan, steps: [acting("s1"), acting("s7"), acting("mine")] });
  expect(freshId(edit, [])).toBe("s8");
  expect(freshId(edit, [{ steps: [acting("s12")] }])).toBe("s13");
  expect(freshId(removeStep(edit, 1), [])).toBe("s8"); // the base version still has it
});

it("appends a new step, and replaces an existing one in place", () => {
  let edit = setStep(startPlanEdit({ ...plan, steps: [acting("s1")] }), 1, acting("s2", { after: ["s1"] }));
  edit = setStep(edit, 0, acting("s1", { tool: "pay" }));
  expect(edit.steps.map(({ step }) => [step.id, step.tool])).toEqual([["s1", "pay"], ["s2", "look"]]);
  expect(edit.next).toBe(2);
  expect(stepNumbers(["s2", "s9", "s1"], edit.steps)).toEqual([2, 1]);
});

it("needs the steps it comes after and the steps whose results it uses, each once", () => {
  expect(stepNeeds(acting("s4", { for_each: "{{steps.s2.output.rows}}", arguments: { a: "{{item.id}}" } }))).toEqual(["s2"]);
  expect(stepNeeds(acting("s3", { after: ["s1"], arguments: { a: ["{{ steps.s2.output.x }}"], b: "{{steps.s1.output}}" } }))).toEqual(["s1", "s2"]);
});

it("ignores fields that the gateway adds", () => {
  const edit = setStep(startPlanEdit({ ...plan, steps: [acting("s1")] }), 1, acting("s2", { after: [], policy: null, effect: "read" }));
  expect(differs(edit, { ...plan, steps: [acting("s1", { effect: "read" }), acting("s2", { effect: "write" })] })).toBe(false);
  expect(differs(edit, { ...plan, steps: [acting("s1"), acting("s2", { after: ["s1"] })] })).toBe(true);
  expect(differs(edit, { ...plan, steps: [acting("s1"), acting("s2", { for_each: "{{steps.s1.output}}" })] })).toBe(true);
});

it("keeps a changed argument when a newer version arrives", () => {
  const base = { ...plan, steps: [acting("s1"), acting("s2")] };
  const moved = rebase(setArgument(startPlanEdit(base), 0, "id", "mine"), { ...base, version: 9, steps: [acting("s1"), acting("s2"), acting("s3")] });
  expect(moved.steps[0]?.step.arguments).toEqual({ id: "mine" });
  expect(moved.steps.map(({ step }) => step.id)).toEqual(["s1", "s2", "s3"]);
});

it("takes the newer version of an unchanged step, and never duplicates a step", () => {
  const base = { ...plan, steps: [acting("s1"), acting("s2")] };
  const newer = { ...base, version: 9, steps: [acting("s1", { text: "theirs" }), acting("s2", { arguments: { id: "theirs" } })] };
  const moved = rebase(setText(startPlanEdit(base), 0, "mine"), newer);
  expect(stepsOf(moved).map(({ id, text, arguments: args }) => [id, text, args])).toEqual([["s1", "mine", {}], ["s2", "s2", { id: "theirs" }]]);
});
