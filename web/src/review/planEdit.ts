// A user's edit of a plan. Pure operations on a small state. Each step keeps a key, so that its field moves with it.
import type { PlanView, StepInput, StepOutput } from "../protocol";
import { isObject } from "../ui/values";

export interface EditedStep {
  key: number;
  step: StepOutput;
  /** The index in `was` of the step that this one comes from; null if it comes from none. */
  origin: number | null;
}

export interface PlanEdit {
  /** The version that is being edited; `was` is its content. */
  base: number;
  was: PlanContent;
  goal: string;
  notes: string;
  steps: readonly EditedStep[];
  next: number;
  /** The step whose form is open. */
  form?: OpenStep | null;
}

/** A step in a form: its key, and its content as entered so far. */
export type OpenStep = Pick<EditedStep, "key" | "step">;

type Argument = NonNullable<StepOutput["arguments"]>[string];
/** A piece of text, or a reference. `step` is null for a reference to the current item of `for_each`. */
export type TextPart = string | { step: string | null; path: string };

type PlanContent = Pick<PlanView, "version" | "goal" | "notes"> & { steps: readonly StepOutput[] };

export function startPlanEdit(plan: PlanContent): PlanEdit {
  const steps = plan.steps.map((step, key) => ({ key, step, origin: key }));
  const was = { version: plan.version, goal: plan.goal, notes: plan.notes, steps: plan.steps };
  return { base: plan.version, was, goal: plan.goal, notes: plan.notes, steps, next: steps.length };
}

/** Type guard for stored values. */
export function isPlanEdit(value: unknown): value is PlanEdit {
  if (!isObject(value) || !Number.isInteger(value.base) || !Number.isInteger(value.next)) return false;
  const { goal, notes, steps, was } = value;
  if (typeof goal !== "string" || typeof notes !== "string" || !Array.isArray(steps) || !isObject(was)) return false;
  const content = typeof was.goal === "string" && typeof was.notes === "string" && Array.isArray(was.steps) && was.steps.every(isStep);
  const form = !value.form || (isObject(value.form) && Number.isInteger(value.form.key) && isStep(value.form.step));
  return content && form && Number.isInteger(was.version) && steps.every(isEditedStep);
}

function isEditedStep(value: unknown): value is EditedStep {
  if (!isObject(value) || !Number.isInteger(value.key)) return false;
  return isStep(value.step) && (value.origin === null || Number.isInteger(value.origin));
}

function isStep(value: unknown): value is StepOutput {
  if (!isObject(value) || typeof value.text !== "string") return false;
  return (value.tool === null || typeof value.tool === "string") && (value.arguments === null || isObject(value.arguments));
}

/** The content of an older version, as an edit of the newest. */
export function restoreVersion(edit: PlanEdit, older: PlanContent): PlanEdit {
  const restored = startPlanEdit(older);
  return { ...restored, steps: restored.steps.map((row) => ({ ...row, origin: null })), base: edit.base, was: edit.was };
}

/** The steps to send, without empty ones. */
export function stepsOf(edit: PlanEdit): StepInput[] {
  return edit.steps.map(({ step }) => ({ ...step, text: step.text.trim() })).filter((step) => step.text);
}

export function differs(edit: PlanEdit, plan: PlanContent): boolean {
  const steps = edit.steps.length === plan.steps.length && edit.steps.every(({ step }, index) => sameStep(step, plan.steps[index]));
  return edit.goal !== plan.goal || edit.notes !== plan.notes || !steps;
}

/** Whether the edit holds something of the user's that the plan, perhaps a newer version, does not have. */
export function isOwnEdit(edit: PlanEdit, plan: PlanContent): boolean {
  const isUnsaved = differs(edit, edit.was) && differs(edit, plan);
  return isUnsaved || (edit.base === plan.version && !!edit.form);
}

/** Compares what the user can edit; the effect, for example, comes from the gateway, and so does a new step's id. */
export function sameStep(step: StepOutput, other: StepOutput | undefined): boolean {
  const content = ({ text, tool, arguments: args, after, for_each: list }: StepOutput) => JSON.stringify([text, tool, args, after ?? [], list ?? null]);
  return other !== undefined && (!step.id || !other.id || step.id === other.id) && content(step) === content(other);
}

export function setText(edit: PlanEdit, key: number, text: string): PlanEdit {
  return { ...edit, steps: edit.steps.map((row) => (row.key === key ? { ...row, step: { ...row.step, text } } : row)) };
}

export function setArgument(edit: PlanEdit, key: number, name: string, value: Argument): PlanEdit {
  const changed = (step: StepOutput): StepOutput => ({ ...step, arguments: { ...step.arguments, [name]: value } });
  return { ...edit, steps: edit.steps.map((row) => (row.key === key ? { ...row, step: changed(row.step) } : row)) };
}

/** The text as an argument value: text stays text; otherwise it is parsed as JSON, if it is valid. */
export function parseArgument(text: string, previous: Argument): Argument {
  if (typeof previous === "string" && splitReferences(previous).every((part) => typeof part === "string")) return text;
  try {
    return JSON.parse(text) as Argument;
  } catch {
    return text;
  }
}

/** Splits a text into references (to a step's output or an item, whole or at `path`) and the text between them. */
export function splitReferences(text: string): TextPart[] {
  return text.split(/({{\s*(?:steps\.[^{}]+\.output|item)[^{}]*}})/).flatMap((part): TextPart[] => {
    const match = /^{{\s*(?:steps\.([^.{}]+)\.output|item)\.?([^{}]*?)\s*}}$/.exec(part);
    return match ? [{ step: match[1] ?? null, path: match[2] ?? "" }] : part ? [part] : [];
  });
}

/** The ids of the steps that this step comes after or whose results it uses. */
export function stepNeeds({ after, arguments: args, for_each: list }: StepOutput): string[] {
  const used = splitReferences(JSON.stringify([list ?? null, args ?? {}])).flatMap((part) => (typeof part === "string" ? [] : (part.step ?? [])));
  return [...new Set([...(after ?? []), ...used])];
}

/** An id that no step has in the edit or in a known version. */
export function freshId(edit: PlanEdit, versions: readonly { steps: readonly StepOutput[] }[]): string {
  const steps = [...edit.steps.map(({ step }) => step), ...edit.was.steps, ...versions.flatMap((version) => version.steps)];
  return `s${1 + Math.max(0, ...steps.map(({ id }) => Number(/^s(\d{1,9})$/.exec(id ?? "")?.[1] ?? 0)))}`;
}

/** Replaces the step with `key`; appends it if the key is new. */
export function setStep(edit: PlanEdit, key: number, step: StepOutput): PlanEdit {
  const exists = edit.steps.some((row) => row.key === key);
  const steps = exists ? edit.steps.map((row) => (row.key === key ? { ...row, step } : row)) : [...edit.steps, { key, step, origin: null }];
  return { ...edit, next: Math.max(edit.next, key + 1), steps };
}

/** The numbers of these steps, from 1. */
export function stepNumbers(ids: readonly string[], steps: readonly EditedStep[]): number[] {
  return ids.map((id) => steps.findIndex((row) => row.step.id === id) + 1).filter((number) => number > 0);
}

/** Adds an empty step after the one with `key` (null: at the end). Its key is the edit's previous `next`. */
export function addStep(edit: PlanEdit, key: number | null): PlanEdit {
  const index = key === null ? edit.steps.length : edit.steps.findIndex((row) => row.key === key) + 1;
  const added: EditedStep = { key: edit.next, step: { text: "", tool: null, arguments: null }, origin: null };
  return { ...edit, next: edit.next + 1, steps: [...edit.steps.slice(0, index), added, ...edit.steps.slice(index)] };
}

export function removeStep(edit: PlanEdit, key: number): PlanEdit {
  return { ...edit, steps: edit.steps.filter((row) => row.key !== key) };
}

/** Moves the step with `key` to position `to`. */
export function moveStep(edit: PlanEdit, key: number, to: number): PlanEdit {
  const moved = edit.steps.find((row) => row.key === key);
  if (!moved || to < 0 || to >= edit.steps.length) return edit;
  const others = edit.steps.filter((row) => row.key !== key);
  return { ...edit, steps: [...others.slice(0, to), moved, ...others.slice(to)] };
}

/**
 * Applies the same changes to a newer version. Everything the user wrote stays, in its order. Unchanged steps that the
 * newer version removed are dropped. New steps are inserted after the step they follow there.
 */
export function rebase(edit: PlanEdit, newer: PlanContent): PlanEdit {
  const { was } = edit;
  const newPlaces = matchSteps(was.steps, newer.steps);
  const steps: (Omit<EditedStep, "key"> & { formerKey?: number })[] = [];
  for (const { step, origin, key: formerKey } of edit.steps) {
    const place = origin === null ? null : (newPlaces[origin] ?? null);
    const isOwn = origin === null || !sameStep(step, was.steps[origin]);
    const newerStep = place === null ? undefined : newer.steps[place];
    if (isOwn || newerStep) steps.push({ step: isOwn || !newerStep ? step : newerStep, origin: place, formerKey });
  }
  for (const [index, step] of newer.steps.entries()) {
    if (newPlaces.includes(index)) continue;
    const previous = steps.findLastIndex((row) => row.origin !== null && row.origin < index);
    steps.splice(previous + 1, 0, { step, origin: index });
  }
  const goal = edit.goal === was.goal ? newer.goal : edit.goal;
  const notes = edit.notes === was.notes ? newer.notes : edit.notes;
  const place = steps.findIndex(({ formerKey }) => formerKey === edit.form?.key);
  const form = edit.form && { ...edit.form, key: place < 0 ? steps.length : place };
  const rows = steps.map(({ step, origin }, key) => ({ key, step, origin }));
  return { ...startPlanEdit(newer), goal, notes, steps: rows, next: steps.length, ...(form && { form }) };
}

/**
 * For each step its index in the newer version, matched by id or else by text; null if none. Each index is used once.
 */
function matchSteps(steps: readonly StepOutput[], newer: readonly StepOutput[]): (number | null)[] {
  const used = new Set<number>();
  return steps.map(({ id, text }) => {
    const place = newer.findIndex((step, index) => (id ? step.id === id : step.text === text) && !used.has(index));
    if (place < 0) return null;
    used.add(place);
    return place;
  });
}
