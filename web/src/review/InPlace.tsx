// Text that becomes a field when it is clicked or opened with Enter, and text again when it is left.
import { Textarea, UnstyledButton } from "@mantine/core";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { fill, REVIEW } from "../generated/words";
import { InlineText } from "../ui/InlineText";

interface Props {
  label: string;
  value: string;
  editable: boolean;
  onChange: (value: string) => void;
  className?: string;
  testId?: string;
  /** Opened at once, such as a step that has just been added. */
  fresh?: boolean;
  onKeyDown?: (event: KeyboardEvent<HTMLTextAreaElement>) => void;
  maxLength?: number;
  /** The value as it is shown, where that is not its text. */
  children?: ReactNode;
}

export function InPlace({ label, value, editable, onChange, className, testId, fresh = false, onKeyDown, maxLength = 50_000, children }: Props) {
  const [open, setOpen] = useState(fresh);
  if (editable && open)
    return (
      <Textarea
        className={className}
        data-testid={testId ? `${testId}-input` : undefined}
        aria-label={label}
        autosize
        minRows={1}
        autoFocus
        maxLength={maxLength}
        value={value}
        onFocus={({ currentTarget: field }) => field.setSelectionRange(field.value.length, field.value.length)}
        onChange={(event) => onChange(event.currentTarget.value)}
        onBlur={() => setOpen(false)}
        onKeyDown={(event) => {
          onKeyDown?.(event);
          if (event.key === "Escape") {
            event.stopPropagation();
            setOpen(false);
          }
        }}
      />
    );
  if (!value && !editable) return null;
  const text = value ? (children ?? <InlineText text={value} />) : <span className="dimmed">{fill(REVIEW.add, { what: label.toLowerCase() })}</span>;
  if (!editable)
    return (
      <p className={className} data-testid={testId}>
        {text}
      </p>
    );
  return (
    <UnstyledButton className={`in-place ${className ?? ""}`} data-testid={testId} aria-label={fill(REVIEW.edit, { what: label.toLowerCase(), text: value })} onClick={() => setOpen(true)}>
      {text}
    </UnstyledButton>
  );
}
