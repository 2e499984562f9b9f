// The changes of each step between two versions of an execution plan. Pure.
import type { StepOutput } from "../protocol";

export interface StepChange {
  step: StepOutput;
  what: "same" | "changed" | "moved" | "new" | "removed";
  /** The differing parts, with old and new value. */
  parts: { name: string; before: unknown; after: unknown }[];
}

/** The changes in the order of the newer version, followed by removed steps. Steps are matched by id. */
export function stepChanges(before: readonly StepOutput[], after: readonly StepOutput[]): StepChange[] {
  const previous = new Map(before.map((step) => [step.id, step]));
  const keptIds = new Set(after.map(({ id }) => id));
  const unmoved = unmovedIds(before, after);
  const changes = after.map((step): StepChange => {
    const older = previous.get(step.id);
    if (!older) return { step, what: "new", parts: [] };
    const parts = changedParts(older, step);
    return { step, what: parts.length ? "changed" : unmoved.has(step.id) ? "same" : "moved", parts };
  });
  return [...changes, ...before.filter(({ id }) => !keptIds.has(id)).map((step): StepChange => ({ step, what: "removed", parts: [] }))];
}

/** The ids of a longest common subsequence: steps that need not be marked as moved. */
function unmovedIds(before: readonly StepOutput[], after: readonly StepOutput[]): ReadonlySet<StepOutput["id"]> {
  const places = new Map(before.map((step, place) => [step.id, place]));
  const both = after.flatMap((step) => {
    const place = places.get(step.id);
    return place === undefined ? [] : [{ id: step.id, place }];
  });
  const runs: { ids: StepOutput["id"][]; place: number }[] = []; // for each step, the longest run that ends with it
  for (const { id, place } of both) {
    const best = runs.filter((run) => run.place < place).reduce<StepOutput["id"][]>((longest, { ids }) => (ids.length > longest.length ? ids : longest), []);
    runs.push({ ids: [...best, id], place });
  }
  return new Set(runs.reduce<StepOutput["id"][]>((longest, { ids }) => (ids.length > longest.length ? ids : longest), []));
}

function changedParts(older: StepOutput, newer: StepOutput): StepChange["parts"] {
  const [before, after] = [comparedFields(older), comparedFields(newer)];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((name) => ({ name, before: before[name], after: after[name] }))
    .filter((part) => JSON.stringify(part.before) !== JSON.stringify(part.after));
}

function comparedFields({ text, tool, after, for_each, arguments: args }: StepOutput): Record<string, unknown> {
  const named = Object.entries(args ?? {}).map(([name, value]) => [name.replaceAll("_", " "), value]);
  return { text, tool, "for each": for_each ?? undefined, "comes after": after?.length ? after.join(", ") : undefined, ...(Object.fromEntries(named) as object) };
}
