// What a step of a plan calls: its tool, with what, what that does to the world, and what it waits for.
import { fill, named, REASONS, REVIEW } from "../generated/words";
import type { StepOutput } from "../protocol";
import { Tone } from "../ui/Tone";
import { inline } from "../ui/values";
import { InPlace } from "./InPlace";
import { argumentOf, type EditedStep, referred, type Said } from "./planEdit";

const EFFECTS = { write: "it changes something", irreversible: "it changes something and cannot be undone" };
type Value = NonNullable<StepOutput["arguments"]>[string];

interface Props {
  step: StepOutput;
  number: number;
  steps: readonly EditedStep[];
  /** Without it the arguments are only shown. */
  onChange?: ((name: string, value: Value) => void) | null;
}

export function StepCall({ step, number, steps, onChange = null }: Props) {
  const after = numbersOf(step.after ?? [], steps);
  return (
    <div className="step-call" data-testid="step-call">
      <code>{step.tool}</code>
      {Object.entries(step.arguments ?? {}).map(([name, value]) => (
        <span key={name} className="step-argument">
          <span className="dimmed">{name.replaceAll("_", " ")}</span>
          <InPlace
            label={fill(REVIEW.argument_of, { name: name.replaceAll("_", " "), number })}
            value={typeof value === "string" ? value : JSON.stringify(value)}
            editable={onChange !== null}
            onChange={(text) => onChange?.(name, argumentOf(text, value))}
            testId="step-argument"
          >
            <Shown text={inline(value)} steps={steps} />
          </InPlace>
        </span>
      ))}
      {step.effect && step.effect !== "read" && <Tone tone="wait">{named(REASONS, EFFECTS[step.effect])}</Tone>}
      {after.length > 0 && <span className="dimmed">{fill(REVIEW.after_steps, { numbers: after.join(", ") })}</span>}
    </div>
  );
}

/** A value with its references in words: “price of step 2”. */
function Shown({ text, steps }: { text: string; steps: readonly EditedStep[] }) {
  return referred(text).map((part: Said, index) => {
    if (typeof part === "string") return <span key={index}>{part}</span>;
    const [number] = numbersOf([part.step], steps);
    const what = number ? fill(part.path ? REVIEW.part_of_step : REVIEW.result_of_step, { what: part.path, number }) : `{{steps.${part.step}.output}}`;
    return (
      <span key={index} className="step-reference">
        {what}
      </span>
    );
  });
}

/** The places of these steps, from 1, as people count them. */
function numbersOf(ids: readonly string[], steps: readonly EditedStep[]): number[] {
  return ids.map((id) => steps.findIndex((one) => one.step.id === id) + 1).filter((number) => number > 0);
}
