// What a newer version of a plan of calls makes of each step, a line a step.
import { REVIEW } from "../generated/words";
import type { StepOutput, StepSection } from "../protocol";
import { Tone } from "../ui/Tone";
import { inline } from "../ui/values";
import { type StepChange, stepChanges } from "./stepChanges";

const TONES = { same: "plain", changed: "wait", new: "good", removed: "bad" } as const;
const WORDS = { same: REVIEW.step_same, changed: REVIEW.step_changed, new: REVIEW.step_new, removed: REVIEW.step_removed };

type Version = { goal: string; notes: string; steps: readonly StepOutput[] };

interface Props {
  before: Version;
  after: Version;
  stands: Readonly<Record<string, StepSection | undefined>>;
}

export function StepDiff({ before, after, stands }: Props) {
  return (
    <ul className="step-diff" data-testid="step-diff">
      {before.goal !== after.goal && <Words name={REVIEW.goal} was={before.goal} is={after.goal} />}
      {before.notes !== after.notes && <Words name={REVIEW.notes} was={before.notes} is={after.notes} />}
      {stepChanges(before.steps, after.steps).map((change) => (
        <li key={change.step.id} data-testid="step-change" data-what={change.what}>
          <Tone tone={TONES[change.what]}>{WORDS[change.what]}</Tone>
          <span className={change.what === "removed" ? "step-removed" : undefined}>
            {change.step.text} <code>{change.step.tool}</code>
          </span>
          <Done stands={stands[change.step.id ?? ""]} />
          <Parts parts={change.parts} />
        </li>
      ))}
    </ul>
  );
}

function Words({ name, was, is }: { name: string; was: string; is: string }) {
  return (
    <li>
      <Tone tone={TONES.changed}>{WORDS.changed}</Tone>
      <Parts parts={[{ name, was, is }]} />
    </li>
  );
}

function Done({ stands }: { stands: StepSection | undefined }) {
  if (!stands || stands.status === "planned") return null;
  return <Tone tone={stands.tone}>{stands.word}</Tone>;
}

function Parts({ parts }: Pick<StepChange, "parts">) {
  return parts.map(({ name, was, is }) => (
    <span key={name} className="step-part">
      <span className="dimmed">{name}</span> <del>{inline(was)}</del> → <ins>{inline(is)}</ins>
    </span>
  ));
}
