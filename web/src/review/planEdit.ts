// A person's own version of the plan while it is being made. Pure operations on a small state; steps keep a key, so
// that moving one moves its field.
import type { PlanView, StepInput, StepOutput } from "../protocol";

export interface EditedStep {
  key: number;
  step: StepOutput;
}

export interface PlanEdit {
  /** The version that is being changed, and what it says. */
  base: number;
  was: Content;
  goal: string;
  notes: string;
  steps: readonly EditedStep[];
  next: number;
}

type Content = Pick<PlanView, "version" | "goal" | "notes"> & { steps: readonly StepOutput[] };

export function begin(plan: Content): PlanEdit {
  const steps = plan.steps.map((step, key) => ({ key, step }));
  const was = { version: plan.version, goal: plan.goal, notes: plan.notes, steps: plan.steps };
  return { base: plan.version, was, goal: plan.goal, notes: plan.notes, steps, next: steps.length };
}

/** The content of another version, as an edit of the newest. */
export function restore(edit: PlanEdit, older: Content): PlanEdit {
  return { ...begin(older), base: edit.base, was: edit.was };
}

/** The steps as they would be sent: what is empty is left out. */
export function stepsOf(edit: PlanEdit): StepInput[] {
  return edit.steps.map(({ step }) => ({ ...step, text: step.text.trim() })).filter((step) => step.text);
}

export function differs(edit: PlanEdit, plan: Content): boolean {
  const steps = edit.steps.map(({ step }) => step);
  return edit.goal !== plan.goal || edit.notes !== plan.notes || JSON.stringify(steps) !== JSON.stringify(plan.steps);
}

export function setText(edit: PlanEdit, key: number, text: string): PlanEdit {
  return { ...edit, steps: edit.steps.map((one) => (one.key === key ? { ...one, step: { ...one.step, text } } : one)) };
}

/** A new empty step after the one with `key` (null: at the end); its key is the edit's `next` before. */
export function add(edit: PlanEdit, key: number | null): PlanEdit {
  const at = key === null ? edit.steps.length : edit.steps.findIndex((one) => one.key === key) + 1;
  const fresh: EditedStep = { key: edit.next, step: { text: "", tool: null, arguments: null } };
  return { ...edit, next: edit.next + 1, steps: [...edit.steps.slice(0, at), fresh, ...edit.steps.slice(at)] };
}

export function remove(edit: PlanEdit, key: number): PlanEdit {
  return { ...edit, steps: edit.steps.filter((one) => one.key !== key) };
}

/** The step with `key` at position `to`, the others in order around it. */
export function moveTo(edit: PlanEdit, key: number, to: number): PlanEdit {
  const moved = edit.steps.find((one) => one.key === key);
  if (!moved || to < 0 || to >= edit.steps.length) return edit;
  const others = edit.steps.filter((one) => one.key !== key);
  return { ...edit, steps: [...others.slice(0, to), moved, ...others.slice(to)] };
}

/** The same changes made to a newer version: what was changed there, too, is kept beside the person's own. */
export function rebase(edit: PlanEdit, newer: Content): PlanEdit {
  const base = edit.was;
  const mine = new Map(edit.steps.map((one) => [one.key, one.step.text]));
  const was = base.steps.map((step) => step.text);
  const steps = newer.steps.flatMap((step): StepOutput[] => {
    const key = was.indexOf(step.text);
    const text = mine.get(key);
    if (key < 0 || text === step.text) return [step]; // theirs, or as it was
    return text === undefined ? [] : [{ ...step, text }]; // the person took it out, or wrote it anew
  });
  for (const [at, { key, step }] of edit.steps.entries()) {
    const changedThere = key < was.length && step.text !== was[key] && !newer.steps.some((one) => one.text === was[key]);
    if (key < was.length && !changedThere) continue;
    const before = edit.steps.slice(0, at).findLast((one) => steps.some((other) => other.text === one.step.text));
    steps.splice(before ? steps.findIndex((one) => one.text === before.step.text) + 1 : at === 0 ? 0 : steps.length, 0, step);
  }
  const goal = edit.goal === base.goal ? newer.goal : edit.goal;
  const notes = edit.notes === base.notes ? newer.notes : edit.notes;
  return { ...begin({ version: newer.version, goal, notes, steps }), was: begin(newer).was };
}
