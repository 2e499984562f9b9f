import { expect, it } from "vitest";
import { addStep, differs, freshId, isOwnEdit, moveStep, parseArgument, rebase, removeStep, restoreVersion, sameStep, setArgument, setStep, setText, splitReferences, startPlanEdit, stepNeeds, stepNumbers, stepsOf, isPlanEdit } from "./planEdit";

const step = (text: string) => ({ text, tool: null, arguments: null });
const plan = { version: 3, goal: "g", notes: "", steps: [step("one"), step("two"), step("three")] };
const texts = (edit: ReturnType<typeof startPlanEdit>) => edit.steps.map(({ step }) => step.text);

it("a new edit differs in nothing from its plan", () => {
  expect(differs(startPlanEdit(plan), plan)).toBe(false);
});

it("changes, adds and removes steps by key, and moves them", () => {
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

it("restores an older version as an edit of the newest version", () => {
  const restored = restoreVersion(startPlanEdit(plan), { ...plan, version: 1, goal: "older" });
  expect([restored.base, restored.goal]).toEqual([3, "older"]);
});

const newerPlan = (...steps: string[]) => ({ ...plan, version: 5, steps: steps.map(step) });

it("rebasing applies the user's changes to a newer version", () => {
  let edit = setText(startPlanEdit(plan), 1, "TWO");
  edit = setText(addStep(edit, 2), 3, "after three");
  edit = { ...removeStep(edit, 0), notes: "mine" };
  const rebased = rebase(edit, { ...newerPlan("one", "new here", "two", "three"), goal: "their goal" });
  expect(texts(rebased)).toEqual(["new here", "TWO", "three", "after three"]);
  expect(differs(rebased, rebased.was)).toBe(true);
  expect(rebased).toMatchObject({ base: 5, goal: "their goal", notes: "mine" });
});

it("rebasing keeps both texts of a step that the user and the newer version changed", () => {
  expect(texts(rebase(setText(startPlanEdit(plan), 1, "mine"), newerPlan("one", "theirs", "three")))).toEqual(["one", "theirs", "mine", "three"]);
});

it("rebasing keeps the user's order, and steps that the user added at the beginning", () => {
  expect(texts(rebase(moveStep(startPlanEdit(plan), 2, 0), newerPlan("one", "two", "three", "four")))).toEqual(["three", "one", "two", "four"]);
  const withFirstStep = moveStep(setText(addStep(startPlanEdit(plan), null), 3, "first"), 3, 0);
  expect(texts(rebase(withFirstStep, newerPlan("one", "two", "three", "four")))).toEqual(["first", "one", "two", "three", "four"]);
});

it("rebasing does not confuse steps with the same text", () => {
  const planWithRepeatedText = { ...plan, steps: ["print", "read", "print"].map(step) };
  const edit = setText(startPlanEdit(planWithRepeatedText), 2, "print total");
  expect(texts(rebase(edit, newerPlan("print", "read", "print", "stop")))).toEqual(["print", "read", "print total", "stop"]);
});

it("rebasing keeps every step of a restored version", () => {
  const edit = restoreVersion(startPlanEdit(plan), { ...plan, version: 1, steps: ["old a", "two"].map(step) });
  const rebased = rebase(edit, newerPlan("one", "two", "three", "four"));
  expect(texts(rebased)).toEqual(["four", "old a", "two"]);
});

it("an edit can be rebased twice", () => {
  const rebasedOnce = rebase(setText(addStep(startPlanEdit(plan), 0), 3, "NEW"), newerPlan("one", "two", "three", "four"));
  expect(texts(rebasedOnce)).toEqual(["one", "NEW", "two", "three", "four"]);
  expect(texts(rebase(rebasedOnce, { ...newerPlan("X", "one", "two", "three", "four"), version: 7 }))).toEqual(["X", "one", "NEW", "two", "three", "four"]);
});

it("rebasing drops steps that the newer version removed and the user left unchanged", () => {
  expect(texts(rebase(setText(startPlanEdit(plan), 0, "ONE"), newerPlan("one", "three")))).toEqual(["ONE", "three"]);
});

it("changes an argument of one step, and keeps its type", () => {
  const planWithCall = { ...plan, steps: [{ ...step("pay"), tool: "pay", arguments: { sum: 20, to: "42", at: "{{steps.s1.output.day}}" } }] };
  const edit = setArgument(startPlanEdit(planWithCall), 0, "sum", parseArgument("25", 20));
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

const callStep = (id: string, overrides = {}) => ({ ...step(id), id, tool: "look", arguments: {}, ...overrides });

it("gives a new step an id that no step has or had", () => {
  const edit = startPlanEdit({ ...plan, steps: [callStep("s1"), callStep("s7"), callStep("mine")] });
  expect(freshId(edit, [])).toBe("s8");
  expect(freshId(edit, [{ steps: [callStep("s12")] }])).toBe("s13");
  expect(freshId(removeStep(edit, 1), [])).toBe("s8"); // the base version still has it
});

it("appends a new step, and replaces an existing one in place", () => {
  let edit = setStep(startPlanEdit({ ...plan, steps: [callStep("s1")] }), 1, callStep("s2", { after: ["s1"] }));
  edit = setStep(edit, 0, callStep("s1", { tool: "pay" }));
  expect(edit.steps.map(({ step }) => [step.id, step.tool])).toEqual([["s1", "pay"], ["s2", "look"]]);
  expect(edit.next).toBe(2);
  expect(stepNumbers(["s2", "s9", "s1"], edit.steps)).toEqual([2, 1]);
});

it("a step depends on those it comes after and on those whose results it uses, each listed once", () => {
  expect(stepNeeds(callStep("s4", { for_each: "{{steps.s2.output.rows}}", arguments: { a: "{{item.id}}" } }))).toEqual(["s2"]);
  expect(stepNeeds(callStep("s3", { after: ["s1"], arguments: { a: ["{{ steps.s2.output.x }}"], b: "{{steps.s1.output}}" } }))).toEqual(["s1", "s2"]);
});

it("an edit and a plan do not differ in fields that the gateway adds", () => {
  const edit = setStep(startPlanEdit({ ...plan, steps: [callStep("s1")] }), 1, callStep("s2", { after: [], policy: null, effect: "read" }));
  expect(differs(edit, { ...plan, steps: [callStep("s1", { effect: "read" }), callStep("s2", { effect: "write" })] })).toBe(false);
  expect(differs(edit, { ...plan, steps: [callStep("s1"), callStep("s2", { after: ["s1"] })] })).toBe(true);
  expect(differs(edit, { ...plan, steps: [callStep("s1"), callStep("s2", { for_each: "{{steps.s1.output}}" })] })).toBe(true);
});

it("rebasing keeps an argument that the user changed", () => {
  const base = { ...plan, steps: [callStep("s1"), callStep("s2")] };
  const rebased = rebase(setArgument(startPlanEdit(base), 0, "id", "mine"), { ...base, version: 9, steps: [callStep("s1"), callStep("s2"), callStep("s3")] });
  expect(rebased.steps[0]?.step.arguments).toEqual({ id: "mine" });
  expect(rebased.steps.map(({ step }) => step.id)).toEqual(["s1", "s2", "s3"]);
});

it("rebasing updates steps that the user left unchanged, and never duplicates a step", () => {
  const base = { ...plan, steps: [callStep("s1"), callStep("s2")] };
  const newer = { ...base, version: 9, steps: [callStep("s1", { text: "theirs" }), callStep("s2", { arguments: { id: "theirs" } })] };
  const rebased = rebase(setText(startPlanEdit(base), 0, "mine"), newer);
  expect(stepsOf(rebased).map(({ id, text, arguments: args }) => [id, text, args])).toEqual([["s1", "mine", {}], ["s2", "s2", { id: "theirs" }]]);
});

const STORED = startPlanEdit({ version: 3, goal: "g", notes: "", steps: [{ text: "one", tool: null, arguments: null }] });

it.each([
  ["a number", 7],
  ["a list", []],
  ["an edit in an older release's format", { base: 3, goal: "g", notes: "", steps: ["one"], next: 1 }],
  ["an edit without steps", { ...STORED, steps: null }],
  ["a step without text", { ...STORED, steps: [{ key: 0, origin: null, step: {} }] }],
  ["a step without its origin", { ...STORED, steps: [{ key: 0, step: STORED.was.steps[0] }] }],
  ["an edit without its base version", { ...STORED, was: { goal: "g", notes: "", steps: [] } }],
])("does not restore %s as an edit", (_, value) => {
  expect([isPlanEdit(value), isPlanEdit(STORED)]).toEqual([false, true]);
});

it("takes a step that has got its id from the gateway for the one that the user wrote", () => {
  const written = { text: "Write a help text", tool: null, arguments: null };
  expect(sameStep(written, { ...written, id: "s4" })).toBe(true);
  expect(sameStep({ ...written, id: "s3" }, { ...written, id: "s4" })).toBe(false);
});

it("a newer version takes the place of an edit only if nothing of the user's is lost", () => {
  const newer = { ...plan, version: 4, goal: "h" };
  const edit = startPlanEdit(plan);
  expect(isOwnEdit(edit, newer)).toBe(false);
  expect(isOwnEdit({ ...edit, goal: "h" }, newer)).toBe(false);
  expect(isOwnEdit({ ...edit, goal: "mine" }, newer)).toBe(true);
});

it("an open form is kept while its version is in review, and follows its step to a newer one", () => {
  const form = { key: 2, step: step("THREE") };
  const edit = { ...startPlanEdit(plan), goal: "mine", form };
  expect(isOwnEdit({ ...edit, goal: plan.goal }, plan)).toBe(true);
  expect(rebase(edit, { ...plan, version: 4, steps: [step("three"), step("one")] }).form).toEqual({ ...form, key: 1 });
});
