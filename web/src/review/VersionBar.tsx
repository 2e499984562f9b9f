// Which version is shown, and which one it is compared with.
import { NativeSelect } from "@mantine/core";

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

export function VersionBar({ versions, newest, choice, onChoice, disabled }: Props) {
  if (versions.length < 2) return null;
  const shown = choice.shown ?? newest;
  const number = (value: string) => (value === "" ? null : Number(value));
  return (
    <div className="version-bar">
      <NativeSelect
        size="xs"
        aria-label="Version shown"
        data-testid="version-shown"
        disabled={disabled}
        value={String(shown)}
        onChange={(event) => {
          const picked = Number(event.currentTarget.value);
          onChoice({ shown: picked === newest ? null : picked, against: choice.against === picked ? null : choice.against });
        }}
        data={versions.toReversed().map((one) => ({ value: String(one.version), label: `Version ${one.number}${one.version === newest ? " (newest)" : ""}` }))}
      />
      <NativeSelect
        size="xs"
        aria-label="Compare with"
        data-testid="version-against"
        disabled={disabled}
        value={choice.against === null ? "" : String(choice.against)}
        onChange={(event) => onChoice({ ...choice, against: number(event.currentTarget.value) })}
        data={[
          { value: "", label: "Compare with…" },
          ...versions.filter((one) => one.version !== shown).map((one) => ({ value: String(one.version), label: `against ${one.number}` })),
        ]}
      />
    </div>
  );
}
