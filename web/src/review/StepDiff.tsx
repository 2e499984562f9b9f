// What a newer version of a plan of calls makes of each step, a line a step.
import { useNameOf } from "../app/session";
import { fill, REVIEW } from "../generated/words";
import type { StepSection } from "../protocol";
import type { PlanVersion } from "../state/versions";
import { Tone } from "../ui/Tone";
import { inline } from "../ui/values";
import { type StepChange, stepChanges } from "./stepChanges";
import { authorOf, Reason } from "./VersionBar";

const TONES = { same: "plain", changed: "wait", moved: "plain", new: "good", removed: "bad" } as const;
const WORDS = { same: REVIEW.step_same, changed: REVIEW.step_changed, moved: REVIEW.step_in_new_place, new: REVIEW.step_new, removed: REVIEW.step_removed };

interface Props {
  before: PlanVersion;
  after: PlanVersion;
  stands: Readonly<Record<string, StepSection | undefined>>;
  /** All versions: of those between the two it says who made them, and why. */
  between: readonly PlanVersion[];
}

export function StepDiff({ before, after, stands, between }: Props) {
  const nameOf = useNameOf();
  const [from, to] = [Math.min(before.version, after.version), Math.max(before.version, after.version)];
  return (
    <ul className="step-diff" data-testid="step-diff">
      {between
        .filter(({ version }) => from < version && version <= to)
        .map((one) => (
          <li key={`version ${one.version}`} data-testid="version-origin">
            <span className="dimmed">
              {fill(REVIEW.version, { number: one.number })} · {authorOf(one.by, nameOf)}
            </span>
            <Reason of={one} />
          </li>
        ))}
      {before.goal !== after.goal && <Words name={REVIEW.goal} was={before.goal} is={after.goal} />}
      {before.notes !== after.notes && <Words name={REVIEW.notes} was={before.notes} is={after.notes} />}
      {stepChanges(before.steps, after.steps).map((change) => (
        <li key={change.step.id} data-testid="step-change" data-what={change.what}>
          <span className={change.what === "removed" ? "step-diff-text step-removed" : "step-diff-text"}>
            {change.step.text} <code>{change.step.tool}</code>
          </span>
          {!(change.what === "same" && begun(stands[change.step.id ?? ""])) && <Tone tone={TONES[change.what]}>{WORDS[change.what]}</Tone>}
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
      <span className="step-diff-text">{name}</span>
      <Tone tone={TONES.changed}>{WORDS.changed}</Tone>
      <Parts parts={[{ name: "", was, is }]} />
    </li>
  );
}

/** How it stands says enough of a step that is as before. */
function begun(stands: StepSection | undefined): stands is StepSection {
  return stands !== undefined && stands.status !== "planned";
}

function Done({ stands }: { stands: StepSection | undefined }) {
  if (!begun(stands)) return null;
  return <Tone tone={stands.tone}>{stands.word}</Tone>;
}

function Parts({ parts }: Pick<StepChange, "parts">) {
  return parts.map(({ name, was, is }) => (
    <span key={name} className="step-part">
      {name && <span className="dimmed">{name} </span>}
      <del>{inline(was)}</del> → <ins>{inline(is)}</ins>
    </span>
  ));
}
