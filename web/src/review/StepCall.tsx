// The tool call of a plan step: tool, arguments, effect, and dependencies.
import { fill, REVIEW } from "../words";
import type { StepOutput, StepSection } from "../protocol";
import { Badge } from "../ui/Badge";
import { EffectBadge } from "../ui/EffectBadge";
import { formatInline } from "../ui/values";
import { InlineEdit } from "./InlineEdit";
import { type EditedStep, parseArgument, splitReferences, stepNeeds, stepNumbers, type TextPart } from "./planEdit";
import styles from "./StepCall.module.css";
import typography from "../ui/typography.module.css";

const TOUCH_LABELS = { host: REVIEW.touches_host, file: REVIEW.touches_file, table: REVIEW.touches_table };
type ArgumentValue = NonNullable<StepOutput["arguments"]>[string];

interface Props {
  step: StepOutput;
  number: number;
  steps: readonly EditedStep[];
  /** The step's effect and state; undefined if the user has changed the step since. */
  section?: StepSection | undefined;
  /** Changes an argument; null if the arguments are read-only. */
  onChange?: ((name: string, value: ArgumentValue) => void) | null;
}

export function StepCall({ step, number, steps, section, onChange = null }: Props) {
  const after = stepNumbers(step.after ?? [], steps).filter((other) => other < number);
  const below = stepNumbers(stepNeeds(step), steps).filter((other) => other > number);
  const [same] = stepNumbers(section?.same_as ? [section.same_as] : [], steps);
  return (
    <div className={styles.call} data-testid="step-call">
      <code>{step.tool}</code>
      {step.for_each && (
        <span data-testid="step-for-each">
          <span className={typography.dimmed}>{REVIEW.for_each}</span> <ReferenceText text={step.for_each} steps={steps} />
        </span>
      )}
      {Object.entries(step.arguments ?? {}).map(([name, value]) => (
        <span key={name} className={isBlock(value) ? `${styles.argument} ${styles.argumentBlock}` : styles.argument}>
          <span className={typography.dimmed}>{name.replaceAll("_", " ")}</span>
          <InlineEdit
            label={fill(REVIEW.argument_of, { name: name.replaceAll("_", " "), number })}
            value={typeof value === "string" ? value : JSON.stringify(value)}
            editable={onChange !== null}
            onChange={(text) => onChange?.(name, parseArgument(text, value))}
            testId="step-argument"
          >
            {isBlock(value) ? <span className={styles.block} data-testid="step-block">{value}</span> : <ReferenceText text={formatInline(value)} steps={steps} />}
          </InlineEdit>
        </span>
      ))}
      {step.effect && <EffectBadge effect={step.effect} />}
      {section?.touches?.map(({ kind, name }) => (
        <span key={`${kind} ${name}`} className={styles.touches} data-testid="step-touches">
          {fill(TOUCH_LABELS[kind], { name })}
        </span>
      ))}
      {after.length > 0 && <span className={typography.dimmed}>{fill(REVIEW.after_steps, { numbers: after.join(", ") })}</span>}
      {below.length > 0 && (
        <Badge tone="wait" data-testid="step-below">
          {fill(REVIEW.after_below, { numbers: below.join(", ") })}
        </Badge>
      )}
      {same !== undefined && (
        <Badge tone="wait" data-testid="step-same">
          {fill(REVIEW.same_change, { number: same })}
        </Badge>
      )}
    </div>
  );
}

/** Text with several lines, such as a program, keeps its line breaks. */
const isBlock = (value: unknown): value is string => typeof value === "string" && value.includes("\n");

/** A value with its references in words: “price of step 2”. */
function ReferenceText({ text, steps }: { text: string; steps: readonly EditedStep[] }) {
  return splitReferences(text).map((part: TextPart, index) => {
    if (typeof part === "string") return <span key={index}>{part}</span>;
    const what = referenceLabel(part, steps);
    return (
      <span key={index} className={styles.reference}>
        {what}
      </span>
    );
  });
}

function referenceLabel({ step, path }: Exclude<TextPart, string>, steps: readonly EditedStep[]): string {
  const what = path.replaceAll("_", " ");
  if (step === null) return path ? fill(REVIEW.part_of_item, { what }) : REVIEW.item;
  const [number] = stepNumbers([step], steps);
  return number ? fill(path ? REVIEW.part_of_step : REVIEW.result_of_step, { what, number }) : `{{steps.${step}.output}}`;
}
