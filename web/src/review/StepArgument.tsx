// One argument of a step: the field that fits it, and a menu that puts the result of another step into it.
import { ActionIcon, Menu } from "@mantine/core";
import { useEffect, useRef } from "react";
import { fill, REVIEW } from "../generated/words";
import { ArgumentInput } from "../takeover/ArgumentInput";
import type { Entered, Field } from "../takeover/fields";
import { Link } from "../ui/icons";
import type { EditedStep } from "./planEdit";

interface Props {
  field: Field;
  value: Entered;
  problem: string | undefined;
  autoFocus: boolean;
  steps: readonly EditedStep[];
  /** The id of the step that the argument belongs to. */
  self: string;
  onChange: (value: Entered) => void;
}

export function StepArgument({ field, value, problem, autoFocus, steps, self, onChange }: Props) {
  const row = useRef<HTMLDivElement>(null);
  const caret = useRef<number | null>(null); // where to go on writing, after a reference was put in
  const label = fill(REVIEW.use_result_in, { name: field.name });
  const input = () => row.current?.querySelector<HTMLInputElement | HTMLTextAreaElement>("input, textarea");
  const insert = (id: string) => {
    const reference = `{{steps.${id}.output}}`;
    const texts = field.kind === "text" && typeof value === "string";
    const [from, to] = texts ? [input()?.selectionStart ?? value.length, input()?.selectionEnd ?? value.length] : [0, 0];
    caret.current = from + reference.length - 2; // before its end: there a part of it is named
    onChange(texts ? value.slice(0, from) + reference + value.slice(to) : reference);
  };
  useEffect(() => {
    const at = caret.current;
    caret.current = null;
    if (at === null) return;
    input()?.focus();
    input()?.setSelectionRange(at, at);
  });
  return (
    <div className="step-field" ref={row}>
      <ArgumentInput field={field} value={value} problem={problem} onChange={onChange} autoFocus={autoFocus} />
      {steps.length > 1 && (
        <Menu position="bottom-end" withinPortal shadow="md">
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" size="md" aria-label={label} title={REVIEW.use_result} data-testid={`reference-${field.name}`}>
              <Link size={16} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown aria-label={label} className="step-references">
            {steps.map(
              ({ key, step }, index) =>
                step.id &&
                step.id !== self && (
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
