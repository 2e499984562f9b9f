// Selects the version to show, and a version to compare it with.
import { Button, NativeSelect } from "@mantine/core";
import { ACTIONS, fill, JOURNAL, REVIEW } from "../words";
import styles from "./VersionBar.module.css";
import typography from "../ui/typography.module.css";

export interface VersionSelection {
  /** null: the newest version. */
  shown: number | null;
  /** null: no comparison. */
  against: number | null;
}

interface Props {
  versions: readonly { version: number; number: number; by: string }[];
  newest: number;
  selection: VersionSelection;
  onSelect: (choice: VersionSelection) => void;
  disabled: boolean;
}

/** The author of a version: a service that drafted it, or a user who edited it. */
export function authorText(actor: string, displayName: (actor: string) => string): string {
  const by = displayName(actor);
  if (by === JOURNAL.you) return REVIEW.author_you;
  return fill(actor.startsWith("user:") ? REVIEW.author_person : REVIEW.author, { by });
}

/** The user's words that led to a draft. */
export function VersionReason({ of }: { of: { reason: string } | undefined }) {
  if (!of?.reason) return null;
  return (
    <span className={typography.dimmed} data-testid="version-reason">
      “{of.reason}”
    </span>
  );
}

export function VersionBar({ versions, newest, selection, onSelect, disabled }: Props) {
  if (versions.length < 2) return null;
  const shownVersion = selection.shown ?? newest;
  const previous = versions.filter((version) => version.version < shownVersion).at(-1);
  const parseVersion = (value: string) => (value === "" ? null : Number(value));
  return (
    <div className={styles.versionBar}>
      {previous && selection.against === null && !disabled && (
        <Button size="compact-xs" variant="subtle" onClick={() => onSelect({ ...selection, against: previous.version })} data-testid="what-changed">
          {ACTIONS.what_changed}
        </Button>
      )}
      <NativeSelect
        size="xs"
        aria-label={REVIEW.version_shown}
        data-testid="version-shown"
        disabled={disabled}
        value={String(shownVersion)}
        onChange={(event) => {
          const selected = Number(event.currentTarget.value);
          onSelect({ shown: selected === newest ? null : selected, against: selection.against === selected ? null : selection.against });
        }}
        data={versions.toReversed().map((version) => ({ value: String(version.version), label: fill(version.version === newest ? REVIEW.version_newest : REVIEW.version, { number: version.number }) }))}
      />
      <NativeSelect
        size="xs"
        aria-label={REVIEW.compare}
        data-testid="version-against"
        disabled={disabled}
        value={selection.against === null ? "" : String(selection.against)}
        onChange={(event) => onSelect({ ...selection, against: parseVersion(event.currentTarget.value) })}
        data={[
          { value: "", label: REVIEW.compare },
          ...versions.filter((version) => version.version !== shownVersion).map((version) => ({ value: String(version.version), label: fill(REVIEW.compare_one, { number: version.number }) })),
        ]}
      />
    </div>
  );
}
