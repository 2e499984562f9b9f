// A plan's steps: edited in place; moved by dragging, with buttons or with keys. In a text plan, Enter adds a step and
// Backspace removes an empty one; a step with a tool has a form.
import { Button, VisuallyHidden } from "@mantine/core";
import { type KeyboardEvent, lazy, useEffect, useRef, useState } from "react";
import { fill, REVIEW } from "../words";
import type { PlanPreviews, StepOutput, StepSection } from "../protocol";
import { LazyBoundary } from "../ui/LazyBoundary";
import { PlusIcon } from "../ui/icons";
import { type LanePlace, layoutLanes } from "./lanes";
import { addStep, type EditedStep, moveStep, type OpenStep, type PlanEdit, removeStep, setStep, stepNeeds } from "./planEdit";
import { railOffset, railWidth, StepRail } from "./StepRail";
import { StepRow } from "./StepRow";
import { useDrag } from "./useDrag";
import styles from "./PlanSteps.module.css";
import stepRowStyles from "./StepRow.module.css";
import typography from "../ui/typography.module.css";

const StepForm = lazy(() => import("./StepForm").then((module) => ({ default: module.StepForm })));

const MAX_LANES = 5; // more lanes are shown as text only

interface Props {
  edit: PlanEdit;
  editable: boolean;
  onChange: (edit: PlanEdit) => void;
  /** State and effects of the steps, by id. */
  sections: Readonly<Record<string, StepSection | undefined>>;
  /** Problems of the steps, by id. */
  problems: Readonly<Record<string, readonly string[] | undefined>>;
  /** The id for an added step of an execution plan; null for a text plan. */
  nextId: string | null;
  /** Previews of the steps' changes against the current data. */
  previews: PlanPreviews;
  /** The steps to allow with any values; null if nothing is being approved. */
  preapproved: readonly string[] | null;
  onPreapprove: (id: string, on: boolean) => void;
}

export function PlanSteps({ edit, editable, onChange, sections, problems, nextId, previews, preapproved, onPreapprove }: Props) {
  const form = edit.form ?? null;
  const onForm = (form: OpenStep | null) => onChange({ ...edit, form });
  const list = useRef<HTMLOListElement>(null);
  const lastOpen = useRef<number | null>(null); // the step whose form was open last: it gets the focus afterwards
  const [currentKey, setCurrentKey] = useState<number | null>(null);
  const [addedKey, setAddedKey] = useState<number | null>(null);
  // `base`: the version in which a step was moved. Later versions do not announce it.
  const [announcement, setAnnouncement] = useState({ base: 0, text: "" });
  const isExecutionPlan = nextId !== null;
  const places = isExecutionPlan ? layoutLanes(edit.steps.map(({ step }) => ({ id: step.id ?? "", needs: stepNeeds(step) }))) : [];
  const lanes = Math.max(1, ...places.map(({ lane, passing }) => Math.max(lane, ...passing) + 1));
  const hasRail = places.length > 0 && lanes <= MAX_LANES;
  const move = (key: number, to: number) => {
    const moved = edit.steps.find((row) => row.key === key);
    if (!moved || to < 0 || to >= edit.steps.length) return;
    onChange(moveStep(edit, key, to));
    setAnnouncement({ base: edit.base, text: fill(REVIEW.step_moved, { text: moved.step.text, number: to + 1, total: edit.steps.length }) });
  };
  const { dragged, startDrag } = useDrag(list, move);
  const addAfter = (key: number | null) => {
    setAddedKey(edit.next);
    onChange(addStep(edit, key));
  };
  const onKey = (event: KeyboardEvent, row: EditedStep, index: number) => {
    const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (!isExecutionPlan) addAfter(row.key);
    } else if (event.key === "Backspace" && row.step.text === "") {
      event.preventDefault();
      setAddedKey(edit.steps[index - 1]?.key ?? null);
      onChange(removeStep(edit, row.key));
    } else if (event.altKey && by) {
      event.preventDefault();
      move(row.key, index + by);
    }
  };
  useEffect(() => {
    if (form === null && lastOpen.current !== null) {
      const row = list.current?.querySelector<HTMLElement>(`[data-key="${lastOpen.current}"] [data-testid=step-grip]`);
      (row ?? list.current?.parentElement?.querySelector<HTMLElement>("[data-testid=step-add]"))?.focus();
    }
    lastOpen.current = form?.key ?? null;
  }, [form]);
  const saveStep = (key: number, step: StepOutput) => onChange({ ...setStep(edit, key, step), form: null });
  const renderForm = (number: number | null) =>
    form && (
      <LazyBoundary>
        <StepForm key={form.key} step={form.step} number={number} steps={edit.steps} onChange={(step) => onForm({ key: form.key, step })} onDone={(step) => saveStep(form.key, step)} onClose={() => onForm(null)} />
      </LazyBoundary>
    );
  const isAdding = form !== null && !edit.steps.some(({ key }) => key === form.key);
  return (
    <>
      <ol role="list" className={styles.steps} aria-label={REVIEW.steps} ref={list} data-dragging={dragged !== null || undefined}>
        {edit.steps.map((row, index) =>
          form?.key === row.key && editable ? (
            <li key={row.key} className={stepRowStyles.step} data-testid="plan-step">
              {renderForm(index + 1)}
            </li>
          ) : (
            <StepRow
              key={row.key}
              row={row}
              index={index}
              edit={edit}
              editable={editable}
              isDragged={dragged === row.key}
              startOpen={addedKey === row.key}
              isCurrent={currentKey === row.key}
              onCurrent={() => setCurrentKey(row.key)}
              section={sections[row.step.id ?? ""]}
              problems={problems[row.step.id ?? ""] ?? []}
              preview={previews.steps[row.step.id ?? ""]}
              isPreapproved={preapproved && preapproved.includes(row.step.id ?? "")}
              onPreapprove={(on) => onPreapprove(row.step.id ?? "", on)}
              rail={hasRail ? <StepRail place={places[index] as LanePlace} lanes={lanes} /> : null}
              numberStyle={hasRail ? numberMargins(places[index] as LanePlace, lanes) : undefined}
              onChange={onChange}
              onKey={(event) => onKey(event, row, index)}
              onMove={(by) => move(row.key, index + by)}
              onDragStart={startDrag(row.key)}
              onForm={isExecutionPlan && !form ? () => onForm({ key: row.key, step: row.step }) : null}
            />
          ),
        )}
      </ol>
      {isAdding && editable && renderForm(null)}
      {previews.left_out > 0 && <p className={typography.hint}>{fill(REVIEW.previews_left_out, { count: previews.left_out })}</p>}
      {editable && !form && (
        <Button
          className={styles.add}
          size="compact-sm"
          variant="subtle"
          leftSection={<PlusIcon size={15} />}
          onClick={() => (isExecutionPlan ? onForm({ key: edit.next, step: { id: nextId, text: "", tool: null, arguments: null } }) : addAfter(null))}
          data-testid="step-add"
        >
          {REVIEW.add_step}
        </Button>
      )}
      <VisuallyHidden component="p" aria-live="assertive" data-testid="step-moved">
        {announcement.base === edit.base && announcement.text}
      </VisuallyHidden>
    </>
  );
}

/** Margins that align a step's number with its lane. */
function numberMargins(place: LanePlace, lanes: number) {
  return { marginLeft: railOffset(place), marginRight: railWidth(lanes) - 24 - railOffset(place) };
}
