// What a newer version of a plan of calls makes of each step of an older one. Pure.
import type { StepOutput } from "../protocol";

export interface StepChange {
  step: StepOutput;
  what: "same" | "changed" | "new" | "removed";
  /** What differs, each as it was and as it is. */
  parts: { name: string; was: unknown; is: unknown }[];
}

/** In the order of the newer version; then what it has no more. Steps are known by their ids. */
export function stepChanges(before: readonly StepOutput[], after: readonly StepOutput[]): StepChange[] {
  const old = new Map(before.map((step) => [step.id, step]));
  const kept = new Set(after.map(({ id }) => id));
  const changes = after.map((step): StepChange => {
    const was = old.get(step.id);
    if (!was) return { step, what: "new", parts: [] };
    const parts = differing(was, step);
    return { step, what: parts.length ? "changed" : "same", parts };
  });
  return [...changes, ...before.filter(({ id }) => !kept.has(id)).map((step): StepChange => ({ step, what: "removed", parts: [] }))];
}

function differing(was: StepOutput, is: StepOutput): StepChange["parts"] {
  const [before, after] = [fields(was), fields(is)];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((name) => ({ name, was: before[name], is: after[name] }))
    .filter((part) => JSON.stringify(part.was) !== JSON.stringify(part.is));
}

function fields({ text, tool, after, arguments: given }: StepOutput): Record<string, unknown> {
  const named = Object.entries(given ?? {}).map(([name, value]) => [name.replaceAll("_", " "), value]);
  return { text, tool, "comes after": after?.length ? after.join(", ") : undefined, ...(Object.fromEntries(named) as object) };
}
