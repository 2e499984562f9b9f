// A plan as editable steps, its versions and what changed between any two of them.
import { Button } from "@mantine/core";
import { type MouseEvent, useEffect, useEffectEvent, useMemo, useState } from "react";
import { useAct, useCan, useNameOf, useSession } from "../app/session";
import { ACTIONS, fill, JOURNAL, named, REVIEW, REVIEW_STATES } from "../generated/words";
import type { PlanView } from "../protocol";
import type { Notice } from "../state/state";
import { planLines, planVersions } from "../state/versions";
import { InlineText } from "../ui/InlineText";
import { Checks } from "./Checks";
import { Decision } from "./Decision";
import { DiffView } from "./DiffView";
import { begin, differs, freshId, isPlanEdit, numbersOf, type PlanEdit, rebase, restore, stepsOf } from "./planEdit";
import { type OpenStep, PlanSteps } from "./PlanSteps";
import { usePreviews } from "./previews";
import { StepCall } from "./StepCall";
import { StepDiff } from "./StepDiff";
import { useKept } from "../ui/kept";
import { InPlace } from "./InPlace";
import { authorOf, type Choice, Reason, VersionBar } from "./VersionBar";

const LONG_GOAL = 160; // characters: from here on it is a paragraph and no title

export default function PlanPanel({ plan }: { plan: PlanView }) {
  const { state, client } = useSession();
  const can = useCan();
  const nameOf = useNameOf();
  const saving = useAct();
  const versions = useMemo(() => planVersions(state.events, state.snapshot), [state.events, state.snapshot]);
  const [edit, setEdit] = useKept<PlanEdit>(`parley.edit.plan.${state.sessionId}`, () => begin(plan), (one) => one.base !== plan.version || differs(one, plan), isPlanEdit);
  const [form, setForm] = useState<OpenStep | null>(null);
  const [choice, setChoice] = useState<Choice>({ shown: null, against: null });
  const [ticked, setTicked] = useState<{ version: number; ids: readonly string[] }>({ version: plan.version, ids: [] });
  const acts = plan.kind === "execution";
  const reviewed = state.snapshot?.review?.target === "plan";
  const previews = usePreviews(state.sessionId, plan, acts && (reviewed || state.snapshot?.reason === "approved"));

  const base = versions.find((one) => one.version === edit.base);
  const dirty = differs(edit, edit.was);
  const newer = edit.base !== plan.version;
  // A new version is shown at once, unless that would throw away what the person has typed.
  if (newer && (!dirty || !differs(edit, plan))) {
    setEdit(begin(plan));
    setForm(null);
    setChoice({ shown: null, against: null });
  }
  const editable = can("edit");
  const stands = Object.values(state.snapshot?.steps ?? {});
  const late = state.snapshot?.turn === null && stands.some((one) => one?.status === "started"); // of the version before
  const runs = plan.status === "executing" && state.snapshot?.phase !== "resting";
  const shown = versions.find((one) => one.version === choice.shown);
  const against = versions.find((one) => one.version === choice.against);
  const steps = stepsOf(edit);
  const ticks = ticked.version === plan.version ? ticked.ids : []; // each version is allowed anew
  const tick = (id: string, on: boolean) => setTicked({ version: plan.version, ids: on ? [...ticks, id] : ticks.filter((one) => one !== id) });
  const refused = state.notices.findLast((one) => one.steps) ?? null;
  const wrong = refused?.steps ?? {}; // of an edit that was not saved, or of an approval
  const asTheyAre = plan.kind === "execution" && !dirty && !newer && !shown && editable;
  const outdated = asTheyAre && (!!refused || Object.values(state.snapshot?.steps ?? {}).some((one) => one?.status === "denied"));
  const forget = () => {
    if (refused) client.dismiss(refused.key);
  };
  const forgetOld = useEffectEvent(forget);
  useEffect(() => forgetOld(), [plan.version]); // what was wrong with one version says nothing about the next
  const discard = () => {
    forget();
    setEdit(begin(plan));
    setForm(null);
  };
  const save = () => {
    forget();
    saving.send({ type: "edit", target: "plan", version: edit.base, goal: edit.goal.trim() || plan.goal, notes: edit.notes, steps });
  };

  return (
    <section className="panel" data-testid="plan-review" aria-label={fill(JOURNAL.plan, { number: plan.number })}>
      <header className="panel-head">
        <h2>{fill(JOURNAL.plan, { number: (shown ?? base ?? plan).number })}</h2>
        <span className="dimmed">
          {authorOf((shown ?? base ?? plan).by, nameOf)} · {named(REVIEW_STATES, plan.status) ?? plan.status}
        </span>
        <Reason of={shown ?? base} />
        <VersionBar versions={versions} newest={plan.version} choice={choice} onChoice={setChoice} disabled={dirty} />
      </header>
      {newer && dirty && (
        <p className="hint" role="alert">
          {fill(REVIEW.newer, { name: fill(JOURNAL.plan, { number: plan.number }) })}{" "}
          <Button size="compact-xs" onClick={() => setEdit(rebase(edit, plan))} data-testid="apply-mine">
            {fill(ACTIONS.apply_mine, { name: fill(JOURNAL.plan, { number: plan.number }) })}
          </Button>{" "}
          <Button size="compact-xs" variant="light" onClick={() => setEdit(begin(plan))}>
            {fill(ACTIONS.show_newer, { name: fill(JOURNAL.plan, { number: plan.number }) })}
          </Button>
        </p>
      )}
      {against && acts ? (
        <StepDiff before={against} after={shown ?? versions.at(-1) ?? against} stands={state.snapshot?.steps ?? {}} between={versions} />
      ) : against ? (
        <DiffView before={planLines(against)} after={planLines(shown ?? versions.at(-1) ?? against)} label={REVIEW.diff_plan} />
      ) : shown ? (
        <OldPlan plan={shown} onRestore={editable ? () => { setEdit(restore(edit, shown)); setChoice({ shown: null, against: null }); } : null} />
      ) : (
        <>
          <InPlace label={REVIEW.goal} value={edit.goal} editable={editable} onChange={(goal) => setEdit({ ...edit, goal })} className={edit.goal.length > LONG_GOAL ? "plan-goal plan-goal-long" : "plan-goal"} testId="plan-goal" />
          <PlanSteps
            edit={edit}
            editable={editable}
            onChange={setEdit}
            stands={state.snapshot?.steps ?? {}}
            problems={wrong}
            nextId={acts ? freshId(edit, versions) : null}
            previews={previews}
            ticks={acts && reviewed && can("approval") ? ticks : null}
            onTick={tick}
            form={form}
            onForm={setForm}
          />
          {!dirty && <Checks checks={plan.checks ?? []} neither={REVIEW.check_note} />}
          <InPlace label={REVIEW.notes} value={edit.notes} editable={editable} onChange={(notes) => setEdit({ ...edit, notes })} className="plan-notes" testId="plan-notes" />
        </>
      )}
      {dirty && runs && (
        <p className="hint" data-testid="edit-pauses">
          {REVIEW.edit_pauses}
        </p>
      )}
      <Decision
        target="text"
        version={plan.version}
        hash={plan.hash}
        preapprove={acts ? ticks : undefined}
        problem={dirty && refused ? told(refused, wrong, edit) : saving.error}
        blocked={form ? REVIEW.form_first : dirty ? REVIEW.save_first : shown ? REVIEW.other_version : late ? REVIEW.still_running : ""}
      >
        {outdated && (
          <Button data-testid="save-again" variant="default" loading={saving.busy} onClick={save}>
            {ACTIONS.save_again}
          </Button>
        )}
        {dirty && (
          <>
            <Button data-testid="edit-save" disabled={steps.length === 0 || newer || form !== null} loading={saving.busy} {...pressed(save)}>
              {ACTIONS.save_version}
            </Button>
            <Button data-testid="edit-discard" variant="default" {...pressed(discard)}>
              {ACTIONS.discard_edits}
            </Button>
          </>
        )}
      </Decision>
    </section>
  );
}

/** What is wrong with a step stands there; here, which steps those are, and what is wrong with none of them alone. */
function told(error: Notice, wrong: NonNullable<Notice["steps"]>, edit: PlanEdit): Notice {
  const numbers = numbersOf(Object.keys(wrong), edit.steps).sort((one, other) => one - other);
  if (numbers.length === 0) return error;
  const where = numbers.length === 1 ? fill(REVIEW.step_wrong, { number: numbers[0] ?? 0 }) : fill(REVIEW.steps_wrong, { numbers: numbers.join(", ") });
  return { ...error, text: [where, ...(wrong[""] ?? [])].join(" "), hint: "" };
}

/** An open field closes after the press: before it, the button would move away under the pointer. */
function pressed(act: () => void) {
  return {
    onMouseDown: (event: MouseEvent) => event.preventDefault(),
    onClick: () => {
      if (document.activeElement instanceof HTMLTextAreaElement) document.activeElement.blur();
      act();
    },
  };
}

function OldPlan({ plan, onRestore }: { plan: ReturnType<typeof planVersions>[number]; onRestore: (() => void) | null }) {
  return (
    <div className="plan-old">
      <p className="plan-goal">
        <InlineText text={plan.goal} />
      </p>
      <ol>
        {plan.steps.map((step, index) => (
          <li key={index}>
            <InlineText text={step.text} />
            {step.tool && <StepCall step={step} number={index + 1} steps={begin(plan).steps} />}
          </li>
        ))}
      </ol>
      {plan.notes && <p className="dimmed">{plan.notes}</p>}
      {onRestore && (
        <Button size="compact-sm" variant="light" onClick={onRestore}>
          {ACTIONS.restore}
        </Button>
      )}
    </div>
  );
}
