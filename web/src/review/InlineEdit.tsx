// Text that becomes a field on click or Enter, and text again on blur.
import { Textarea, UnstyledButton } from "@mantine/core";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { fill, REVIEW } from "../words";
import { InlineText } from "../ui/InlineText";
import styles from "./InlineEdit.module.css";
import typography from "../ui/typography.module.css";

interface Props {
  label: string;
  value: string;
  editable: boolean;
  onChange: (value: string) => void;
  className?: string;
  testId?: string;
  /** Starts as a field, for example for a step that was just added. */
  startOpen?: boolean;
  onKeyDown?: (event: KeyboardEvent<HTMLTextAreaElement>) => void;
  maxLength?: number;
  /** The displayed value, if it differs from the text. */
  children?: ReactNode;
}

export function InlineEdit({ label, value, editable, onChange, className, testId, startOpen = false, onKeyDown, maxLength = 50_000, children }: Props) {
  const [isOpen, setIsOpen] = useState(startOpen);
  if (editable && isOpen)
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
        onBlur={() => setIsOpen(false)}
        onKeyDown={(event) => {
          onKeyDown?.(event);
          if (event.key === "Escape") {
            event.stopPropagation();
            setIsOpen(false);
          }
        }}
      />
    );
  if (!value && !editable) return null;
  const text = value ? (children ?? <InlineText text={value} />) : <span className={typography.dimmed}>{fill(REVIEW.add, { what: label.toLowerCase() })}</span>;
  if (!editable)
    return (
      <p className={className} data-testid={testId}>
        {text}
      </p>
    );
  return (
    <UnstyledButton className={`${styles.inlineEdit} ${className ?? ""}`} data-testid={testId} aria-label={fill(REVIEW.edit, { what: label.toLowerCase(), text: value })} onClick={() => setIsOpen(true)}>
      {text}
    </UnstyledButton>
  );
}
