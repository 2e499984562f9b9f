// The steps of an offered plan, beside those of the plan that is there. Pure.
import type { PlanView, StepOutput } from "../protocol";
import { type StepChange, stepChanges } from "./stepChanges";

export interface OfferedSteps {
  /** Whether it revises the plan that is there: they share steps. */
  isRevision: boolean;
  /** The steps in order, each with its number in the offered plan; those that it leaves out have none, and are last. */
  rows: readonly (StepChange & { number: number | null })[];
}

export function offeredSteps(offered: { steps: readonly StepOutput[] }, plan: Pick<PlanView, "steps"> | null): OfferedSteps {
  const known = new Set(plan?.steps.map(({ id }) => id).filter(Boolean));
  const isRevision = offered.steps.some(({ id }) => known.has(id));
  const changes = stepChanges(isRevision && plan ? plan.steps : [], offered.steps);
  return { isRevision, rows: changes.map((change, index) => ({ ...change, number: change.what === "removed" ? null : index + 1 })) };
}
