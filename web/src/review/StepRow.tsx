// One step of a plan: its grip and number, its words, what it calls, how it stands, and what can be done with it.
import { ActionIcon, Checkbox } from "@mantine/core";
import type { CSSProperties, KeyboardEvent, PointerEvent, ReactNode } from "react";
import { fill, REVIEW } from "../generated/words";
import type { Preview, StepSection } from "../protocol";
import { Changes } from "../ui/Changes";
import { Bin, Down, Grip, Pen, Up } from "../ui/icons";
import { Tone } from "../ui/Tone";
import { InPlace } from "./InPlace";
import { type EditedStep, type PlanEdit, remove, sameStep, setArgument, setText } from "./planEdit";
import { StepCall } from "./StepCall";

interface Props {
  one: EditedStep;
  index: number;
  edit: PlanEdit;
  editable: boolean;
  dragged: boolean;
  fresh: boolean;
  /** The one that was used last; where there is little room, only this one shows its buttons. */
  current: boolean;
  onCurrent: () => void;
  stands: StepSection | undefined;
  problems: readonly string[];
  /** What it would change now, where that is known. */
  preview: Preview | undefined;
  /** Whether it is to be allowed with whatever values it gets; null: nothing is being approved. */
  ticked: boolean | null;
  onTick: (on: boolean) => void;
  rail: ReactNode;
  numberStyle: CSSProperties | undefined;
  onChange: (edit: PlanEdit) => void;
  onKey: (event: KeyboardEvent) => void;
  onMove: (by: number) => void;
  onTake: (event: PointerEvent) => void;
  /** Opens its form; null: it has none, or another one is open. */
  onForm: (() => void) | null;
}

export function StepRow(props: Props) {
  const { one, index, edit, editable, stands, problems, onChange } = props;
  const { step, key, origin } = one;
  const number = index + 1;
  const changeable = editable && !over(stands);
  const same = origin !== null && sameStep(step, edit.was.steps[origin]);
  return (
    // By click and key, not by focus: what appears as a press begins would move what is pressed away under the finger.
    <li
      className="step"
      data-testid="plan-step"
      data-key={key}
      data-current={props.current || undefined}
      data-dragged={props.dragged || undefined}
      data-wrong={problems.length > 0 || undefined}
      onClick={props.onCurrent}
      onKeyUp={props.onCurrent}
    >
      {props.rail}
      <Number {...props} number={number} />
      <div className="step-text">
        <InPlace
          key={props.fresh ? "fresh" : "plain"}
          fresh={props.fresh}
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
            about={same ? stands : undefined}
            onChange={changeable ? (name, value) => onChange(setArgument(edit, key, name, value)) : null}
          />
        )}
        {same && props.preview && <Changes asked={{ preview: props.preview }} now />}
        {same && stands?.preapprovable && props.ticked !== null && (
          <Checkbox
            size="xs"
            className="step-tick"
            label={step.for_each ? REVIEW.preapprove_each : REVIEW.preapprove}
            checked={props.ticked}
            onChange={(event) => props.onTick(event.currentTarget.checked)}
            data-testid="step-preapprove"
          />
        )}
        {same && stands?.preapproved && (
          <span className="dimmed" data-testid="step-preapproved">
            {REVIEW.preapproved}
          </span>
        )}
        {[...problems, ...(same && stands?.problem ? [stands.problem] : [])].map((problem) => (
          <p key={problem} className="problem step-problem" role="alert" data-testid="step-problem">
            {problem}
          </p>
        ))}
      </div>
      {editable && (
        <div className="step-buttons">
          {props.onForm && changeable && (
            <StepButton label={fill(REVIEW.change_step, { number })} disabled={false} onClick={props.onForm}>
              <Pen size={15} />
            </StepButton>
          )}
          <StepButton label={fill(REVIEW.step_up, { number })} disabled={index === 0} onClick={() => props.onMove(-1)}>
            <Up size={15} />
          </StepButton>
          <StepButton label={fill(REVIEW.step_down, { number })} disabled={number === edit.steps.length} onClick={() => props.onMove(1)}>
            <Down size={15} />
          </StepButton>
          <StepButton label={fill(REVIEW.step_delete, { number })} disabled={edit.steps.length === 1} onClick={() => onChange(remove(edit, key))}>
            <Bin size={15} />
          </StepButton>
        </div>
      )}
      {stands && stands.status !== "planned" && (
        <span className="step-stands" data-testid="step-stands">
          <Tone tone={stands.tone}>{stands.word}</Tone>
        </span>
      )}
    </li>
  );
}

/** The step's number; where it can be moved, a grip for the pointer and the arrow keys. */
function Number({ number, editable, numberStyle, onTake, onMove }: Props & { number: number }) {
  if (!editable)
    return (
      <span className="step-number" style={numberStyle}>
        {number}
      </span>
    );
  return (
    <button
      type="button"
      className="step-number step-grip"
      style={numberStyle}
      aria-label={fill(REVIEW.move_step, { number })}
      data-testid="step-grip"
      onPointerDown={onTake}
      onKeyDown={(event) => {
        const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
        if (!by) return;
        event.preventDefault();
        onMove(by);
      }}
    >
      <span className="step-digit">{number}</span>
      <Grip size={14} />
    </button>
  );
}

/** A step that was done, may have been, or has an output that a person gave, is changed by a new one. */
function over(stands: StepSection | undefined): boolean {
  return stands?.status === "finished" || stands?.status === "started" || stands?.status === "uncertain" || stands?.given === true;
}

function StepButton({ label, children, ...rest }: { label: string; disabled: boolean; onClick: () => void; children: ReactNode }) {
  return (
    // A press would close the field that is open, and what is pressed would move away under the pointer.
    <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onMouseDown={(event) => event.preventDefault()} {...rest}>
      {children}
    </ActionIcon>
  );
}
