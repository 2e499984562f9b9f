// A person's own version of the plan while it is being made. Pure operations on a small state; steps keep a key, so
// that moving one moves its field.
import { isObject } from "../flow/found";
import type { PlanView, StepInput, StepOutput } from "../protocol";

export interface EditedStep {
  key: number;
  step: StepOutput;
  /** Which step of `was` it is, or has been; null: none of them. */
  origin: number | null;
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

type Argument = NonNullable<StepOutput["arguments"]>[string];
/** `step` is null where it is the item of the list that the step is done for. */
export type Said = string | { step: string | null; path: string };

type Content = Pick<PlanView, "version" | "goal" | "notes"> & { steps: readonly StepOutput[] };

export function begin(plan: Content): PlanEdit {
  const steps = plan.steps.map((step, key) => ({ key, step, origin: key }));
  const was = { version: plan.version, goal: plan.goal, notes: plan.notes, steps: plan.steps };
  return { base: plan.version, was, goal: plan.goal, notes: plan.notes, steps, next: steps.length };
}

/** True where it can be gone on with; it may come from a storage. */
export function isPlanEdit(value: unknown): value is PlanEdit {
  if (!isObject(value) || !Number.isInteger(value.base) || !Number.isInteger(value.next)) return false;
  const { goal, notes, steps, was } = value;
  if (typeof goal !== "string" || typeof notes !== "string" || !Array.isArray(steps) || !isObject(was)) return false;
  const content = typeof was.goal === "string" && typeof was.notes === "string" && Array.isArray(was.steps) && was.steps.every(isStep);
  return content && Number.isInteger(was.version) && steps.every(isEdited);
}

function isEdited(value: unknown): value is EditedStep {
  if (!isObject(value) || !Number.isInteger(value.key)) return false;
  return isStep(value.step) && (value.origin === null || Number.isInteger(value.origin));
}

function isStep(value: unknown): value is StepOutput {
  if (!isObject(value) || typeof value.text !== "string") return false;
  return (value.tool === null || typeof value.tool === "string") && (value.arguments === null || isObject(value.arguments));
}

/** The content of another version, as an edit of the newest. */
export function restore(edit: PlanEdit, older: Content): PlanEdit {
  const restored = begin(older);
  return { ...restored, steps: restored.steps.map((one) => ({ ...one, origin: null })), base: edit.base, was: edit.was };
}

/** The steps as they would be sent: what is empty is left out. */
export function stepsOf(edit: PlanEdit): StepInput[] {
  return edit.steps.map(({ step }) => ({ ...step, text: step.text.trim() })).filter((step) => step.text);
}

export function differs(edit: PlanEdit, plan: Content): boolean {
  const steps = edit.steps.length === plan.steps.length && edit.steps.every(({ step }, index) => sameStep(step, plan.steps[index]));
  return edit.goal !== plan.goal || edit.notes !== plan.notes || !steps;
}

/** They say and do the same; what the tool does to the world is not for a person to say. */
export function sameStep(one: StepOutput, other: StepOutput | undefined): boolean {
  const said = ({ id, text, tool, arguments: given, after, for_each: list }: StepOutput) => JSON.stringify([id ?? null, text, tool, given, after ?? [], list ?? null]);
  return other !== undefined && said(one) === said(other);
}

export function setText(edit: PlanEdit, key: number, text: string): PlanEdit {
  return { ...edit, steps: edit.steps.map((one) => (one.key === key ? { ...one, step: { ...one.step, text } } : one)) };
}

export function setArgument(edit: PlanEdit, key: number, name: string, value: Argument): PlanEdit {
  const changed = (step: StepOutput): StepOutput => ({ ...step, arguments: { ...step.arguments, [name]: value } });
  return { ...edit, steps: edit.steps.map((one) => (one.key === key ? { ...one, step: changed(one.step) } : one)) };
}

/** What a text stands for as an argument: a text where there was one, else JSON, if it is any. */
export function argumentOf(text: string, before: Argument): Argument {
  if (typeof before === "string" && referred(before).every((part) => typeof part === "string")) return text;
  try {
    return JSON.parse(text) as Argument;
  } catch {
    return text;
  }
}

/** A text in parts: its references to what a step gives or to an item (all of it, or the part at `path`), and what is between them. */
export function referred(text: string): Said[] {
  return text.split(/({{\s*(?:steps\.[^{}]+\.output|item)[^{}]*}})/).flatMap((part): Said[] => {
    const found = /^{{\s*(?:steps\.([^.{}]+)\.output|item)\.?([^{}]*?)\s*}}$/.exec(part);
    return found ? [{ step: found[1] ?? null, path: found[2] ?? "" }] : part ? [part] : [];
  });
}

/** The steps that it comes after, and those whose results it uses. */
export function needsOf({ after, arguments: given, for_each: list }: StepOutput): string[] {
  const used = referred(JSON.stringify([list ?? null, given ?? {}])).flatMap((part) => (typeof part === "string" ? [] : (part.step ?? [])));
  return [...new Set([...(after ?? []), ...used])];
}

/** An id that no step of this plan has, or had in a version that is known. */
export function freshId(edit: PlanEdit, known: readonly { steps: readonly StepOutput[] }[]): string {
  const steps = [...edit.steps.map(({ step }) => step), ...edit.was.steps, ...known.flatMap((one) => one.steps)];
  return `s${1 + Math.max(0, ...steps.map(({ id }) => Number(/^s(\d{1,9})$/.exec(id ?? "")?.[1] ?? 0)))}`;
}

/** The step with `key` as it is now; with a new key, a new one at the end. */
export function setStep(edit: PlanEdit, key: number, step: StepOutput): PlanEdit {
  const there = edit.steps.some((one) => one.key === key);
  const steps = there ? edit.steps.map((one) => (one.key === key ? { ...one, step } : one)) : [...edit.steps, { key, step, origin: null }];
  return { ...edit, next: Math.max(edit.next, key + 1), steps };
}

/** The places of these steps, from 1, as people count them. */
export function numbersOf(ids: readonly string[], steps: readonly EditedStep[]): number[] {
  return ids.map((id) => steps.findIndex((one) => one.step.id === id) + 1).filter((number) => number > 0);
}

/** A new empty step after the one with `key` (null: at the end); its key is the edit's `next` before. */
export function add(edit: PlanEdit, key: number | null): PlanEdit {
  const at = key === null ? edit.steps.length : edit.steps.findIndex((one) => one.key === key) + 1;
  const fresh: EditedStep = { key: edit.next, step: { text: "", tool: null, arguments: null }, origin: null };
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

/**
 * The same changes made to a newer version. What the person wrote is all kept, in its order; of what they left alone, what
 * the newer version took out goes; and what is new there comes after what it follows there.
 */
export function rebase(edit: PlanEdit, newer: Content): PlanEdit {
  const { was } = edit;
  const there = matched(was.steps, newer.steps);
  const steps: Omit<EditedStep, "key">[] = [];
  for (const { step, origin } of edit.steps) {
    const now = origin === null ? null : (there[origin] ?? null);
    const mine = origin === null || !sameStep(step, was.steps[origin]);
    const theirs = now === null ? undefined : newer.steps[now];
    if (mine || theirs) steps.push({ step: mine || !theirs ? step : theirs, origin: now });
  }
  for (const [at, step] of newer.steps.entries()) {
    if (there.includes(at)) continue;
    const before = steps.findLastIndex((one) => one.origin !== null && one.origin < at);
    steps.splice(before + 1, 0, { step, origin: at });
  }
  const goal = edit.goal === was.goal ? newer.goal : edit.goal;
  const notes = edit.notes === was.notes ? newer.notes : edit.notes;
  return { ...begin(newer), goal, notes, steps: steps.map((one, key) => ({ ...one, key })), next: steps.length };
}

/** For each step where it stands in the newer version, by its id or else its text; null where it does not. Each place once. */
function matched(steps: readonly StepOutput[], newer: readonly StepOutput[]): (number | null)[] {
  const taken = new Set<number>();
  return steps.map(({ id, text }) => {
    const at = newer.findIndex((one, index) => (id ? one.id === id : one.text === text) && !taken.has(index));
    if (at < 0) return null;
    taken.add(at);
    return at;
  });
}
