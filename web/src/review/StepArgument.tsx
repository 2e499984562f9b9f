// One argument of a step: its field, and a menu that inserts a reference to another step's result.
import { ActionIcon, Menu } from "@mantine/core";
import { useEffect, useRef } from "react";
import { fill, REVIEW } from "../words";
import { ArgumentInput } from "../takeover/ArgumentInput";
import type { Field, FieldValue } from "../takeover/fields";
import { LinkIcon } from "../ui/icons";
import type { EditedStep } from "./planEdit";
import styles from "./StepArgument.module.css";

interface Props {
  field: Field;
  value: FieldValue;
  problem: string | undefined;
  autoFocus: boolean;
  steps: readonly EditedStep[];
  /** The id of the step that the argument belongs to. */
  stepId: string;
  onChange: (value: FieldValue) => void;
}

export function StepArgument({ field, value, problem, autoFocus, steps, stepId, onChange }: Props) {
  const row = useRef<HTMLDivElement>(null);
  const caret = useRef<number | null>(null); // where to put the caret after inserting a reference
  const label = fill(REVIEW.use_result_in, { name: field.name });
  const input = () => row.current?.querySelector<HTMLInputElement | HTMLTextAreaElement>("input, textarea");
  const insert = (id: string) => {
    const reference = `{{steps.${id}.output}}`;
    const isText = field.kind === "text" && typeof value === "string";
    const [from, to] = isText ? [input()?.selectionStart ?? value.length, input()?.selectionEnd ?? value.length] : [0, 0];
    caret.current = from + reference.length - 2; // before the closing braces, where the user can add a path
    onChange(isText ? value.slice(0, from) + reference + value.slice(to) : reference);
  };
  useEffect(() => {
    const position = caret.current;
    caret.current = null;
    if (position === null) return;
    input()?.focus();
    input()?.setSelectionRange(position, position);
  });
  return (
    <div className={styles.field} ref={row}>
      <ArgumentInput field={field} value={value} problem={problem} onChange={onChange} autoFocus={autoFocus} />
      {steps.length > 1 && (
        <Menu position="bottom-end" withinPortal shadow="md">
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" size="md" aria-label={label} title={REVIEW.use_result} data-testid={`reference-${field.name}`}>
              <LinkIcon size={16} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown aria-label={label} className={styles.references}>
            {steps.map(
              ({ key, step }, index) =>
                step.id &&
                step.id !== stepId && (
                  <Menu.Item key={key} onClick={() => insert(step.id ?? "")} data-testid="reference">
                    {index + 1}. {step.text}
                  </Menu.Item>
                ),
            )}
          </Menu.Dropdown>
        </Menu>
      )}
    </div>
  );
}
