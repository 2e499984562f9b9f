// The changes between two versions of an execution plan, one line per step.
import { useDisplayName } from "../app/sessionContext";
import { fill, REVIEW } from "../words";
import type { StepSection } from "../protocol";
import type { PlanVersion } from "../state/versions";
import { Badge } from "../ui/Badge";
import { formatInline } from "../ui/values";
import { type StepChange, stepChanges } from "./stepChanges";
import { authorText, VersionReason } from "./VersionBar";
import styles from "./StepDiff.module.css";
import typography from "../ui/typography.module.css";

const TONES = { same: "plain", changed: "wait", moved: "plain", new: "good", removed: "bad" } as const;
const WORDS = { same: REVIEW.step_same, changed: REVIEW.step_changed, moved: REVIEW.step_in_new_place, new: REVIEW.step_new, removed: REVIEW.step_removed };

interface Props {
  before: PlanVersion;
  after: PlanVersion;
  sections: Readonly<Record<string, StepSection | undefined>>;
  /** All versions; those between the two are listed with author and reason. */
  versions: readonly PlanVersion[];
}

export function StepDiff({ before, after, sections, versions }: Props) {
  const displayName = useDisplayName();
  const [from, to] = [Math.min(before.version, after.version), Math.max(before.version, after.version)];
  return (
    <ul role="list" className={styles.diff} data-testid="step-diff">
      {versions
        .filter(({ version }) => from < version && version <= to)
        .map((planVersion) => (
          <li key={`version ${planVersion.version}`} data-testid="version-origin">
            <span className={typography.dimmed}>
              {fill(REVIEW.version, { number: planVersion.number })} · {authorText(planVersion.by, displayName)}
            </span>
            <VersionReason of={planVersion} />
          </li>
        ))}
      {before.goal !== after.goal && <TextChange name={REVIEW.goal} before={before.goal} after={after.goal} />}
      {before.notes !== after.notes && <TextChange name={REVIEW.notes} before={before.notes} after={after.notes} />}
      {stepChanges(before.steps, after.steps).map((change) => (
        <li key={change.step.id} data-testid="step-change" data-what={change.what}>
          <span className={change.what === "removed" ? `${styles.text} ${styles.removed}` : styles.text}>
            {change.step.text} <code>{change.step.tool}</code>
          </span>
          {!(change.what === "same" && hasStarted(sections[change.step.id ?? ""])) && <ChangeBadge what={change.what} />}
          <StepStatus section={sections[change.step.id ?? ""]} />
          <ChangedParts parts={change.parts} />
        </li>
      ))}
    </ul>
  );
}

function TextChange({ name, before, after }: { name: string; before: string; after: string }) {
  return (
    <li>
      <span className={styles.text}>{name}</span>
      <ChangeBadge what="changed" />
      <ChangedParts parts={[{ name: "", before, after }]} />
    </li>
  );
}

/** An unchanged step that has started shows its state instead of "unchanged". */
function hasStarted(section: StepSection | undefined): section is StepSection {
  return section !== undefined && section.status !== "planned";
}

export function StepStatus({ section }: { section: StepSection | undefined }) {
  if (!hasStarted(section)) return null;
  return <Badge tone={section.tone}>{section.word}</Badge>;
}

export function ChangeBadge({ what }: Pick<StepChange, "what">) {
  return <Badge tone={TONES[what]}>{WORDS[what]}</Badge>;
}

export function ChangedParts({ parts }: Pick<StepChange, "parts">) {
  return parts.map(({ name, before, after }) => (
    <span key={name} className={styles.part} data-part>
      {name && <span className={typography.dimmed}>{name} </span>}
      <del>{formatInline(before)}</del> → <ins>{formatInline(after)}</ins>
    </span>
  ));
}
