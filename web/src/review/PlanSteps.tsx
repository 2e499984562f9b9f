// The steps: edited in place; moved by buttons, Alt+arrows or by dragging; Enter adds one, Backspace in an empty one
// removes it.
import { ActionIcon, Button } from "@mantine/core";
import { type KeyboardEvent, useState } from "react";
import { fill, REVIEW } from "../generated/words";
import { Bin, Down, Grip, Plus, Up } from "../ui/icons";
import { Tone } from "../ui/Tone";
import type { StepSection } from "../protocol";
import { InPlace } from "./InPlace";
import { type Place, places } from "./lanes";
import { add, type EditedStep, moveTo, type PlanEdit, referred, remove, setArgument, setText } from "./planEdit";
import { StepCall } from "./StepCall";
import { railOffset, StepRail, railWidth } from "./StepRail";

const WIDEST = 5; // lanes; what needs more is told in words alone

interface Props {
  edit: PlanEdit;
  editable: boolean;
  onChange: (edit: PlanEdit) => void;
  /** What has come of them, by id. */
  stands: Readonly<Record<string, StepSection | undefined>>;
}

export function PlanSteps({ edit, editable, onChange, stands }: Props) {
  const [dragged, setDragged] = useState<number | null>(null);
  const [fresh, setFresh] = useState<number | null>(null);
  const grows = !edit.steps.some((one) => one.step.id); // a step that acts needs more than words: the planner is asked for it
  const rail = grows ? [] : places(edit.steps.map(({ step }) => ({ id: step.id ?? "", needs: needsOf(step) })));
  const lanes = Math.max(1, ...rail.map(({ lane, passing }) => Math.max(lane, ...passing) + 1));
  const drawn = rail.length > 0 && lanes <= WIDEST;
  const addAfter = (key: number | null) => {
    setFresh(edit.next);
    onChange(add(edit, key));
  };
  const onKey = (event: KeyboardEvent, one: EditedStep, index: number) => {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      if (grows) addAfter(one.key);
    } else if (event.key === "Backspace" && one.step.text === "") {
      event.preventDefault();
      setFresh(edit.steps[index - 1]?.key ?? null);
      onChange(remove(edit, one.key));
    } else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      onChange(moveTo(edit, one.key, index + (event.key === "ArrowUp" ? -1 : 1)));
    }
  };
  return (
    <>
      <ol className="steps" aria-label={REVIEW.steps}>
        {edit.steps.map((one, index) => (
          <li
            key={one.key}
            className="step"
            data-testid="plan-step"
            data-dragged={dragged === one.key || undefined}
            onDragOver={(event) => {
              if (dragged === null) return;
              event.preventDefault();
              if (dragged !== one.key) onChange(moveTo(edit, dragged, index));
            }}
          >
            {drawn && <StepRail place={rail[index] as Place} lanes={lanes} />}
            {editable ? (
              <span
                style={drawn ? beside(rail[index] as Place, lanes) : undefined}
                className="step-number step-grip"
                draggable
                onDragStart={(event) => {
                  event.dataTransfer.effectAllowed = "move";
                  setDragged(one.key);
                }}
                onDragEnd={() => setDragged(null)}
              >
                <span className="step-digit">{index + 1}</span>
                <Grip size={14} />
              </span>
            ) : (
              <span className="step-number" style={drawn ? beside(rail[index] as Place, lanes) : undefined}>
                {index + 1}
              </span>
            )}
            <div className="step-text">
              <InPlace
                key={fresh === one.key ? "fresh" : "plain"}
                fresh={fresh === one.key}
                label={fill(REVIEW.step, { number: index + 1 })}
                value={one.step.text}
                editable={editable}
                onChange={(text) => onChange(setText(edit, one.key, text))}
                onKeyDown={(event) => onKey(event, one, index)}
                testId="step-text"
                maxLength={2000}
              />
              {one.step.tool && (
                <StepCall
                  step={one.step}
                  number={index + 1}
                  steps={edit.steps}
                  onChange={editable && !over(stands[one.step.id ?? ""]) ? (name, value) => onChange(setArgument(edit, one.key, name, value)) : null}
                />
              )}
            </div>
            <Stands stands={stands[one.step.id ?? ""]} />
            {editable && (
              <div className="step-buttons">
                <StepButton label={fill(REVIEW.step_up, { number: index + 1 })} disabled={index === 0} onClick={() => onChange(moveTo(edit, one.key, index - 1))}>
                  <Up size={15} />
                </StepButton>
                <StepButton
                  label={fill(REVIEW.step_down, { number: index + 1 })}
                  disabled={index === edit.steps.length - 1}
                  onClick={() => onChange(moveTo(edit, one.key, index + 1))}
                >
                  <Down size={15} />
                </StepButton>
                <StepButton label={fill(REVIEW.step_delete, { number: index + 1 })} disabled={edit.steps.length === 1} onClick={() => onChange(remove(edit, one.key))}>
                  <Bin size={15} />
                </StepButton>
              </div>
            )}
          </li>
        ))}
      </ol>
      {editable && grows && (
        <Button className="step-add" size="compact-sm" variant="subtle" leftSection={<Plus size={15} />} onClick={() => addAfter(null)} data-testid="step-add">
          {REVIEW.add_step}
        </Button>
      )}
    </>
  );
}

/** The steps that it comes after, and those whose results it uses. */
function needsOf({ after, arguments: given }: EditedStep["step"]): string[] {
  const used = referred(JSON.stringify(given ?? {})).flatMap((part) => (typeof part === "string" ? [] : [part.step]));
  return [...new Set([...(after ?? []), ...used])];
}

/** The place of a step's number beside its lines. */
function beside(place: Place, lanes: number) {
  return { marginLeft: railOffset(place), marginRight: railWidth(lanes) - 24 - railOffset(place) };
}

/** A step that was done, or may have been, is changed by a new one. */
function over(stands: StepSection | undefined): boolean {
  return stands?.status === "finished" || stands?.status === "started" || stands?.status === "uncertain";
}

function Stands({ stands }: { stands: StepSection | undefined }) {
  if (!stands || stands.status === "planned") return null;
  return (
    <span className="step-stands" data-testid="step-stands">
      <Tone tone={stands.tone}>{stands.word}</Tone>
    </span>
  );
}

function StepButton({ label, children, ...rest }: { label: string; disabled: boolean; onClick: () => void; children: React.ReactNode }) {
  return (
    // A press would close the field that is open, and what is pressed would move away under the pointer.
    <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onMouseDown={(event) => event.preventDefault()} {...rest}>
      {children}
    </ActionIcon>
  );
}
