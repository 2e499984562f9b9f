// What a newer version of a plan of calls makes of each step of an older one. Pure.
import type { StepOutput } from "../protocol";

export interface StepChange {
  step: StepOutput;
  what: "same" | "changed" | "moved" | "new" | "removed";
  /** What differs, each as it was and as it is. */
  parts: { name: string; was: unknown; is: unknown }[];
}

/** In the order of the newer version; then what it has no more. Steps are known by their ids. */
export function stepChanges(before: readonly StepOutput[], after: readonly StepOutput[]): StepChange[] {
  const old = new Map(before.map((step) => [step.id, step]));
  const kept = new Set(after.map(({ id }) => id));
  const still = inOrder(before, after);
  const changes = after.map((step): StepChange => {
    const was = old.get(step.id);
    if (!was) return { step, what: "new", parts: [] };
    const parts = differing(was, step);
    return { step, what: parts.length ? "changed" : still.has(step.id) ? "same" : "moved", parts };
  });
  return [...changes, ...before.filter(({ id }) => !kept.has(id)).map((step): StepChange => ({ step, what: "removed", parts: [] }))];
}

/** The ids of steps that stand in both in the same order: as many as there can be. */
function inOrder(before: readonly StepOutput[], after: readonly StepOutput[]): ReadonlySet<StepOutput["id"]> {
  const places = new Map(before.map((step, place) => [step.id, place]));
  const both = after.flatMap((step) => {
    const place = places.get(step.id);
    return place === undefined ? [] : [{ id: step.id, place }];
  });
  const runs: { ids: StepOutput["id"][]; place: number }[] = []; // for each step, the longest run in order that ends with it
  for (const { id, place } of both) {
    const best = runs.filter((run) => run.place < place).reduce<StepOutput["id"][]>((found, { ids }) => (ids.length > found.length ? ids : found), []);
    runs.push({ ids: [...best, id], place });
  }
  return new Set(runs.reduce<StepOutput["id"][]>((found, { ids }) => (ids.length > found.length ? ids : found), []));
}

function differing(was: StepOutput, is: StepOutput): StepChange["parts"] {
  const [before, after] = [fields(was), fields(is)];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((name) => ({ name, was: before[name], is: after[name] }))
    .filter((part) => JSON.stringify(part.was) !== JSON.stringify(part.is));
}

function fields({ text, tool, after, for_each, arguments: given }: StepOutput): Record<string, unknown> {
  const named = Object.entries(given ?? {}).map(([name, value]) => [name.replaceAll("_", " "), value]);
  return { text, tool, "for each": for_each ?? undefined, "comes after": after?.length ? after.join(", ") : undefined, ...(Object.fromEntries(named) as object) };
}
