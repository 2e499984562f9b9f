// Which version is shown, and which one it is compared with.
import { Button, NativeSelect } from "@mantine/core";
import { ACTIONS, fill, JOURNAL, REVIEW } from "../generated/words";

export interface Choice {
  /** null: the newest. */
  shown: number | null;
  /** null: no comparison. */
  against: number | null;
}

interface Props {
  versions: readonly { version: number; number: number; by: string }[];
  newest: number;
  choice: Choice;
  onChoice: (choice: Choice) => void;
  disabled: boolean;
}

/** Whose version it is: a service drafts, a person edits. */
export function authorOf(actor: string, nameOf: (actor: string) => string): string {
  const by = nameOf(actor);
  if (by === JOURNAL.you) return REVIEW.author_you;
  return fill(actor.startsWith("user:") ? REVIEW.author_person : REVIEW.author, { by });
}

/** The person's words that led to a draft. */
export function Reason({ of }: { of: { reason: string } | undefined }) {
  if (!of?.reason) return null;
  return (
    <span className="dimmed version-reason" data-testid="version-reason">
      “{of.reason}”
    </span>
  );
}

export function VersionBar({ versions, newest, choice, onChoice, disabled }: Props) {
  if (versions.length < 2) return null;
  const shown = choice.shown ?? newest;
  const previous = versions.filter((one) => one.version < shown).at(-1);
  const number = (value: string) => (value === "" ? null : Number(value));
  return (
    <div className="version-bar">
      {previous && choice.against === null && !disabled && (
        <Button size="compact-xs" variant="subtle" onClick={() => onChoice({ ...choice, against: previous.version })} data-testid="what-changed">
          {ACTIONS.what_changed}
        </Button>
      )}
      <NativeSelect
        size="xs"
        aria-label={REVIEW.version_shown}
        data-testid="version-shown"
        disabled={disabled}
        value={String(shown)}
        onChange={(event) => {
          const picked = Number(event.currentTarget.value);
          onChoice({ shown: picked === newest ? null : picked, against: choice.against === picked ? null : choice.against });
        }}
        data={versions.toReversed().map((one) => ({ value: String(one.version), label: fill(one.version === newest ? REVIEW.version_newest : REVIEW.version, { number: one.number }) }))}
      />
      <NativeSelect
        size="xs"
        aria-label={REVIEW.compare}
        data-testid="version-against"
        disabled={disabled}
        value={choice.against === null ? "" : String(choice.against)}
        onChange={(event) => onChoice({ ...choice, against: number(event.currentTarget.value) })}
        data={[
          { value: "", label: REVIEW.compare },
          ...versions.filter((one) => one.version !== shown).map((one) => ({ value: String(one.version), label: fill(REVIEW.compare_one, { number: one.number }) })),
        ]}
      />
    </div>
  );
}
