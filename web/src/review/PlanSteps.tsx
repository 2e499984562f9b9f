// The steps: edited in place; moved by dragging, by buttons or by keys. In a plan of words Enter adds one, and Backspace in
// an empty one removes it; a step that acts has a form.
import { Button } from "@mantine/core";
import { type KeyboardEvent, lazy, Suspense, useEffect, useRef, useState } from "react";
import { fill, REVIEW } from "../generated/words";
import type { PlanPreviews, StepOutput, StepSection } from "../protocol";
import { Plus } from "../ui/icons";
import { type Place, places } from "./lanes";
import { add, type EditedStep, moveTo, needsOf, type PlanEdit, remove, setStep } from "./planEdit";
import { railOffset, railWidth, StepRail } from "./StepRail";
import { StepRow } from "./StepRow";
import { useDrag } from "./useDrag";

const StepForm = lazy(() => import("./StepForm").then((module) => ({ default: module.StepForm })));

const WIDEST = 5; // lanes; what needs more is told in words alone

/** The step whose form is open: its key, and what it is as the form is opened. */
export interface OpenStep {
  key: number;
  step: StepOutput;
}

interface Props {
  edit: PlanEdit;
  editable: boolean;
  onChange: (edit: PlanEdit) => void;
  /** What has come of them, and what they reach, by id. */
  stands: Readonly<Record<string, StepSection | undefined>>;
  /** What is wrong with them, by id. */
  problems: Readonly<Record<string, readonly string[] | undefined>>;
  /** The id of a step that is added, where steps act. */
  nextId: string | null;
  /** What the changes would do now. */
  previews: PlanPreviews;
  /** The steps that are to be allowed with whatever values they get; null: nothing is being approved. */
  ticks: readonly string[] | null;
  onTick: (id: string, on: boolean) => void;
  form: OpenStep | null;
  onForm: (form: OpenStep | null) => void;
}

export function PlanSteps({ edit, editable, onChange, stands, problems, nextId, previews, ticks, onTick, form, onForm }: Props) {
  const list = useRef<HTMLOListElement>(null);
  const left = useRef<number | null>(null); // the step whose form was open last: there the focus goes on
  const [current, setCurrent] = useState<number | null>(null);
  const [fresh, setFresh] = useState<number | null>(null);
  const [told, setTold] = useState({ base: 0, text: "" }); // of this version: a move of it is no news once it is saved
  const acts = nextId !== null;
  const rail = acts ? places(edit.steps.map(({ step }) => ({ id: step.id ?? "", needs: needsOf(step) }))) : [];
  const lanes = Math.max(1, ...rail.map(({ lane, passing }) => Math.max(lane, ...passing) + 1));
  const drawn = rail.length > 0 && lanes <= WIDEST;
  const move = (key: number, to: number) => {
    const moved = edit.steps.find((one) => one.key === key);
    if (!moved || to < 0 || to >= edit.steps.length) return;
    onChange(moveTo(edit, key, to));
    setTold({ base: edit.base, text: fill(REVIEW.step_moved, { text: moved.step.text, number: to + 1, total: edit.steps.length }) });
  };
  const { dragged, take } = useDrag(list, move);
  const addAfter = (key: number | null) => {
    setFresh(edit.next);
    onChange(add(edit, key));
  };
  const onKey = (event: KeyboardEvent, one: EditedStep, index: number) => {
    const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      if (!acts) addAfter(one.key);
    } else if (event.key === "Backspace" && one.step.text === "") {
      event.preventDefault();
      setFresh(edit.steps[index - 1]?.key ?? null);
      onChange(remove(edit, one.key));
    } else if (event.altKey && by) {
      event.preventDefault();
      move(one.key, index + by);
    }
  };
  useEffect(() => {
    if (form === null && left.current !== null) {
      const row = list.current?.querySelector<HTMLElement>(`[data-key="${left.current}"] .step-grip`);
      (row ?? list.current?.parentElement?.querySelector<HTMLElement>(".step-add"))?.focus();
    }
    left.current = form?.key ?? null;
  }, [form]);
  const done = (key: number, step: StepOutput) => {
    onChange(setStep(edit, key, step));
    onForm(null);
  };
  const opened = (number: number | null) =>
    form && (
      <Suspense>
        <StepForm key={form.key} step={form.step} number={number} steps={edit.steps} onDone={(step) => done(form.key, step)} onClose={() => onForm(null)} />
      </Suspense>
    );
  const adds = form !== null && !edit.steps.some(({ key }) => key === form.key);
  return (
    <>
      <ol className="steps" aria-label={REVIEW.steps} ref={list} data-dragging={dragged !== null || undefined}>
        {edit.steps.map((one, index) =>
          form?.key === one.key && editable ? (
            <li key={one.key} className="step" data-testid="plan-step">
              {opened(index + 1)}
            </li>
          ) : (
            <StepRow
              key={one.key}
              one={one}
              index={index}
              edit={edit}
              editable={editable}
              dragged={dragged === one.key}
              fresh={fresh === one.key}
              current={current === one.key}
              onCurrent={() => setCurrent(one.key)}
              stands={stands[one.step.id ?? ""]}
              problems={problems[one.step.id ?? ""] ?? []}
              preview={previews.steps[one.step.id ?? ""]}
              ticked={ticks && ticks.includes(one.step.id ?? "")}
              onTick={(on) => onTick(one.step.id ?? "", on)}
              rail={drawn ? <StepRail place={rail[index] as Place} lanes={lanes} /> : null}
              numberStyle={drawn ? beside(rail[index] as Place, lanes) : undefined}
              onChange={onChange}
              onKey={(event) => onKey(event, one, index)}
              onMove={(by) => move(one.key, index + by)}
              onTake={take(one.key)}
              onForm={acts && !form ? () => onForm({ key: one.key, step: one.step }) : null}
            />
          ),
        )}
      </ol>
      {adds && editable && opened(null)}
      {previews.left_out > 0 && <p className="hint">{fill(REVIEW.previews_left_out, { count: previews.left_out })}</p>}
      {editable && !form && (
        <Button
          className="step-add"
          size="compact-sm"
          variant="subtle"
          leftSection={<Plus size={15} />}
          onClick={() => (acts ? onForm({ key: edit.next, step: { id: nextId, text: "", tool: null, arguments: null } }) : addAfter(null))}
          data-testid="step-add"
        >
          {REVIEW.add_step}
        </Button>
      )}
      <p className="sr-only" aria-live="assertive" data-testid="step-moved">
        {told.base === edit.base && told.text}
      </p>
    </>
  );
}

/** The place of a step's number beside its lines. */
function beside(place: Place, lanes: number) {
  return { marginLeft: railOffset(place), marginRight: railWidth(lanes) - 24 - railOffset(place) };
}
