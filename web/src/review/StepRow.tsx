// One step of a plan: number and drag handle, text, tool call, state, and buttons.
import { ActionIcon, Checkbox } from "@mantine/core";
import type { CSSProperties, KeyboardEvent, PointerEvent, ReactNode } from "react";
import { fill, REVIEW } from "../words";
import type { Preview, StepSection } from "../protocol";
import { Badge } from "../ui/Badge";
import { Changes } from "../ui/Changes";
import { TrashIcon, DownIcon, DragIcon, EditIcon, UpIcon } from "../ui/icons";
import { InlineEdit } from "./InlineEdit";
import { type EditedStep, type PlanEdit, removeStep, sameStep, setArgument, setText } from "./planEdit";
import { StepCall } from "./StepCall";
import styles from "./StepRow.module.css";
import stepNumberStyles from "./stepNumber.module.css";
import typography from "../ui/typography.module.css";

interface Props {
  row: EditedStep;
  index: number;
  edit: PlanEdit;
  editable: boolean;
  isDragged: boolean;
  startOpen: boolean;
  /** The step used last; on narrow screens only this one shows its buttons. */
  isCurrent: boolean;
  onCurrent: () => void;
  section: StepSection | undefined;
  problems: readonly string[];
  /** What the step would change now, if known. */
  preview: Preview | undefined;
  /** Whether the step is allowed with any values; null if nothing is being approved. */
  isPreapproved: boolean | null;
  onPreapprove: (on: boolean) => void;
  rail: ReactNode;
  numberStyle: CSSProperties | undefined;
  onChange: (edit: PlanEdit) => void;
  onKey: (event: KeyboardEvent) => void;
  onMove: (by: number) => void;
  onDragStart: (event: PointerEvent) => void;
  /** Opens the form; null if the step has none, or if another form is open. */
  onForm: (() => void) | null;
}

export function StepRow(props: Props) {
  const { row: row, index, edit, editable, section, problems, onChange } = props;
  const { step, key, origin } = row;
  const number = index + 1;
  const canChange = editable && !isDone(section);
  const isUnchanged = origin !== null && sameStep(step, edit.was.steps[origin]);
  return (
    // On click and key up, not on focus: buttons that appear on mouse down would shift what is being clicked.
    <li
      className={styles.step}
      data-testid="plan-step"
      data-key={key}
      data-current={props.isCurrent || undefined}
      data-dragged={props.isDragged || undefined}
      data-wrong={problems.length > 0 || undefined}
      onClick={props.onCurrent}
      onKeyUp={props.onCurrent}
    >
      {props.rail}
      <StepNumber {...props} number={number} />
      <div className={styles.text}>
        <InlineEdit
          key={props.startOpen ? "fresh" : "plain"}
          startOpen={props.startOpen}
          label={fill(REVIEW.step, { number })}
          value={step.text}
          editable={editable}
          onChange={(text) => onChange(setText(edit, key, text))}
          onKeyDown={props.onKey}
          testId="step-text"
          maxLength={2000}
        />
        {step.tool && (
          <StepCall
            step={step}
            number={number}
            steps={edit.steps}
            section={isUnchanged ? section : undefined}
            onChange={canChange ? (name, value) => onChange(setArgument(edit, key, name, value)) : null}
          />
        )}
        {isUnchanged && props.preview && <Changes state={{ preview: props.preview }} now />}
        {isUnchanged && section?.preapprovable && props.isPreapproved !== null && (
          <Checkbox
            size="xs"
            className={styles.preapprove}
            label={step.for_each ? REVIEW.preapprove_each : REVIEW.preapprove}
            checked={props.isPreapproved}
            onChange={(event) => props.onPreapprove(event.currentTarget.checked)}
            data-testid="step-preapprove"
          />
        )}
        {isUnchanged && section?.preapproved && (
          <span className={typography.dimmed} data-testid="step-preapproved">
            {REVIEW.preapproved}
          </span>
        )}
        {[...problems, ...(isUnchanged && section?.problem ? [section.problem] : [])].map((problem) => (
          <p key={problem} className={`${typography.problem} ${styles.problem}`} role="alert" data-testid="step-problem">
            {problem}
          </p>
        ))}
      </div>
      {editable && (
        <div className={styles.buttons}>
          {props.onForm && canChange && (
            <StepButton label={fill(REVIEW.change_step, { number })} disabled={false} onClick={props.onForm}>
              <EditIcon size={15} />
            </StepButton>
          )}
          <StepButton label={fill(REVIEW.step_up, { number })} disabled={index === 0} onClick={() => props.onMove(-1)}>
            <UpIcon size={15} />
          </StepButton>
          <StepButton label={fill(REVIEW.step_down, { number })} disabled={number === edit.steps.length} onClick={() => props.onMove(1)}>
            <DownIcon size={15} />
          </StepButton>
          <StepButton label={fill(REVIEW.step_delete, { number })} disabled={edit.steps.length === 1} onClick={() => onChange(removeStep(edit, key))}>
            <TrashIcon size={15} />
          </StepButton>
        </div>
      )}
      {section && section.status !== "planned" && (
        <span className={styles.status} data-testid="step-stands">
          <Badge tone={section.tone}>{section.word}</Badge>
        </span>
      )}
    </li>
  );
}

/** The step's number; if it can be moved, a handle for the pointer and the arrow keys. */
function StepNumber({ number, editable, numberStyle, onDragStart, onMove }: Props & { number: number }) {
  if (!editable)
    return (
      <span className={stepNumberStyles.number} style={numberStyle}>
        {number}
      </span>
    );
  return (
    <button
      type="button"
      className={`${stepNumberStyles.number} ${styles.grip}`}
      style={numberStyle}
      aria-label={fill(REVIEW.move_step, { number })}
      data-testid="step-grip"
      onPointerDown={onDragStart}
      onKeyDown={(event) => {
        const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
        if (!by) return;
        event.preventDefault();
        onMove(by);
      }}
    >
      <span className={styles.digit}>{number}</span>
      <DragIcon size={14} />
    </button>
  );
}

/** Whether the step may have run or has an output from the user: it can then only be replaced by a new step. */
function isDone(section: StepSection | undefined): boolean {
  return section?.status === "finished" || section?.status === "started" || section?.status === "uncertain" || section?.given === true;
}

function StepButton({ label, children, ...rest }: { label: string; disabled: boolean; onClick: () => void; children: ReactNode }) {
  return (
    // Prevents blur on mouse down: closing an open field would move the button away under the pointer.
    <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onMouseDown={(event) => event.preventDefault()} {...rest}>
      {children}
    </ActionIcon>
  );
}
