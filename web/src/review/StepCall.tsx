// What a step of a plan calls: its tool, with what, what that does to the world, and what it waits for.
import { fill, REVIEW } from "../generated/words";
import type { StepOutput, StepSection } from "../protocol";
import { EffectTone } from "../ui/EffectTone";
import { Tone } from "../ui/Tone";
import { inline } from "../ui/values";
import { InPlace } from "./InPlace";
import { argumentOf, type EditedStep, needsOf, numbersOf, referred, type Said } from "./planEdit";

const TOUCHES = { host: REVIEW.touches_host, file: REVIEW.touches_file, table: REVIEW.touches_table };
type Value = NonNullable<StepOutput["arguments"]>[string];

interface Props {
  step: StepOutput;
  number: number;
  steps: readonly EditedStep[];
  /** What it reaches, where it is as the gateway knows it. */
  about?: StepSection | undefined;
  /** Without it the arguments are only shown. */
  onChange?: ((name: string, value: Value) => void) | null;
}

export function StepCall({ step, number, steps, about, onChange = null }: Props) {
  const after = numbersOf(step.after ?? [], steps).filter((one) => one < number);
  const below = numbersOf(needsOf(step), steps).filter((one) => one > number);
  const [same] = numbersOf(about?.same_as ? [about.same_as] : [], steps);
  return (
    <div className="step-call" data-testid="step-call">
      <code>{step.tool}</code>
      {step.for_each && (
        <span data-testid="step-for-each">
          <span className="dimmed">{REVIEW.for_each}</span> <Shown text={step.for_each} steps={steps} />
        </span>
      )}
      {Object.entries(step.arguments ?? {}).map(([name, value]) => (
        <span key={name} className={isBlock(value) ? "step-argument step-argument-block" : "step-argument"}>
          <span className="dimmed">{name.replaceAll("_", " ")}</span>
          <InPlace
            label={fill(REVIEW.argument_of, { name: name.replaceAll("_", " "), number })}
            value={typeof value === "string" ? value : JSON.stringify(value)}
            editable={onChange !== null}
            onChange={(text) => onChange?.(name, argumentOf(text, value))}
            testId="step-argument"
          >
            {isBlock(value) ? <span className="step-block">{value}</span> : <Shown text={inline(value)} steps={steps} />}
          </InPlace>
        </span>
      ))}
      {step.effect && <EffectTone effect={step.effect} />}
      {about?.touches?.map(({ kind, name }) => (
        <span key={`${kind} ${name}`} className="step-touches" data-testid="step-touches">
          {fill(TOUCHES[kind], { name })}
        </span>
      ))}
      {after.length > 0 && <span className="dimmed">{fill(REVIEW.after_steps, { numbers: after.join(", ") })}</span>}
      {below.length > 0 && (
        <Tone tone="wait" data-testid="step-below">
          {fill(REVIEW.after_below, { numbers: below.join(", ") })}
        </Tone>
      )}
      {same !== undefined && (
        <Tone tone="wait" data-testid="step-same">
          {fill(REVIEW.same_change, { number: same })}
        </Tone>
      )}
    </div>
  );
}

/** Text of several lines, such as a program: its lines stay as they are. */
const isBlock = (value: unknown): value is string => typeof value === "string" && value.includes("\n");

/** A value with its references in words: “price of step 2”. */
function Shown({ text, steps }: { text: string; steps: readonly EditedStep[] }) {
  return referred(text).map((part: Said, index) => {
    if (typeof part === "string") return <span key={index}>{part}</span>;
    const what = wordsOf(part, steps);
    return (
      <span key={index} className="step-reference">
        {what}
      </span>
    );
  });
}

function wordsOf({ step, path }: Exclude<Said, string>, steps: readonly EditedStep[]): string {
  const what = path.replaceAll("_", " ");
  if (step === null) return path ? fill(REVIEW.part_of_item, { what }) : REVIEW.item;
  const [number] = numbersOf([step], steps);
  return number ? fill(path ? REVIEW.part_of_step : REVIEW.result_of_step, { what, number }) : `{{steps.${step}.output}}`;
}
