// What a step of a plan calls: its tool, with what, what that does to the world, and what it waits for.
import { fill, named, REASONS, REVIEW } from "../generated/words";
import type { StepOutput } from "../protocol";
import { Tone } from "../ui/Tone";
import { inline } from "../ui/values";
import type { EditedStep } from "./planEdit";

const EFFECTS = { write: "it changes something", irreversible: "it changes something and cannot be undone" };

export function StepCall({ step, steps }: { step: StepOutput; steps: readonly EditedStep[] }) {
  const after = numbersOf(step.after ?? [], steps);
  return (
    <div className="step-call" data-testid="step-call">
      <code>{step.tool}</code>
      {Object.entries(step.arguments ?? {}).map(([name, value]) => (
        <span key={name}>
          <span className="dimmed">{name.replaceAll("_", " ")}</span> {inline(value)}
        </span>
      ))}
      {step.effect && step.effect !== "read" && <Tone tone="wait">{named(REASONS, EFFECTS[step.effect])}</Tone>}
      {after.length > 0 && <span className="dimmed">{fill(REVIEW.after_steps, { numbers: after.join(", ") })}</span>}
    </div>
  );
}

/** The places of these steps, from 1, as people count them. */
function numbersOf(ids: readonly string[], steps: readonly EditedStep[]): number[] {
  return ids.map((id) => steps.findIndex((one) => one.step.id === id) + 1).filter((number) => number > 0);
}
