// A plan with editable steps, its versions, and a comparison of any two.
import { Button } from "@mantine/core";
import { type MouseEvent, useEffect, useEffectEvent, useMemo, useState } from "react";
import { useCan, useClient, useCommand, useDisplayName, useSession } from "../app/sessionContext";
import { useDraftState } from "../app/useDraft";
import { ACTIONS, fill, JOURNAL, REVIEW, REVIEW_STATES, wordFor } from "../words";
import type { PlanView } from "../protocol";
import type { Notice } from "../state/state";
import { planText, planVersions } from "../state/versions";
import { InlineText } from "../ui/InlineText";
import { Checks } from "./Checks";
import { Decision } from "./Decision";
import { DiffView } from "./DiffView";
import { InlineEdit } from "./InlineEdit";
import { differs, freshId, isOwnEdit, isPlanEdit, type PlanEdit, rebase, restoreVersion, startPlanEdit, stepNumbers, stepsOf } from "./planEdit";
import { PlanSteps } from "./PlanSteps";
import { usePreviews } from "./previews";
import { StepCall } from "./StepCall";
import { StepDiff } from "./StepDiff";
import { authorText, VersionBar, VersionReason, type VersionSelection } from "./VersionBar";
import panelStyles from "./panel.module.css";
import planTextStyles from "./planText.module.css";
import typography from "../ui/typography.module.css";

const NO_SELECTION: VersionSelection = { shown: null, against: null };
const LONG_GOAL = 160; // characters: a longer goal is styled as a paragraph

export default function PlanPanel({ plan }: { plan: PlanView }) {
  const client = useClient();
  const { sessionId, journal, snapshot } = useSession(({ state: { sessionId, journal, snapshot } }) => ({ sessionId, journal, snapshot }));
  const refusal = useSession(({ state }) => state.notices.findLast((notice) => notice.steps) ?? null);
  const can = useCan();
  const displayName = useDisplayName();
  const command = useCommand();
  const versions = useMemo(() => planVersions(journal, snapshot), [journal, snapshot]);
  const [stored, setEdit] = useDraftState<PlanEdit>("plan", () => startPlanEdit(plan), (edit) => isOwnEdit(edit, plan), isPlanEdit);
  const unedited = useMemo(() => startPlanEdit(plan), [plan]);
  // A new version is shown at once, unless the user would lose an edit of the previous one.
  const edit = stored.base === plan.version || isOwnEdit(stored, plan) ? stored : unedited;
  const [chosen, setChosen] = useState({ base: edit.base, selection: NO_SELECTION });
  const selection = chosen.base === edit.base ? chosen.selection : NO_SELECTION;
  const setSelection = (selection: VersionSelection) => setChosen({ base: edit.base, selection });
  const [preapproval, setPreapproval] = useState<{ version: number; ids: readonly string[] }>({ version: plan.version, ids: [] });
  const isExecutionPlan = plan.kind === "execution";
  const isInReview = snapshot?.review?.target === "plan";
  const previews = usePreviews(sessionId, plan, isExecutionPlan && (isInReview || snapshot?.reason === "approved"));

  const base = versions.find((version) => version.version === edit.base);
  const isDirty = differs(edit, edit.was);
  const hasNewer = edit.base !== plan.version;
  const canEdit = can("edit");
  const sections = Object.values(snapshot?.steps ?? {});
  // Steps of the previous version still run.
  const isStillRunning = snapshot?.turn === null && sections.some((section) => section?.status === "started");
  const isRunning = plan.status === "executing" && snapshot?.phase !== "resting";
  const shownVersion = versions.find((version) => version.version === selection.shown);
  const comparedVersion = versions.find((version) => version.version === selection.against);
  const steps = stepsOf(edit);
  // Each version needs its own permission.
  const preapproved = preapproval.version === plan.version ? preapproval.ids : [];
  const preapprove = (id: string, isAllowed: boolean) => setPreapproval({ version: plan.version, ids: isAllowed ? [...preapproved, id] : preapproved.filter((other) => other !== id) });
  const stepProblems = refusal?.steps ?? {}; // from a refused edit or approval
  const isUnedited = plan.kind === "execution" && !isDirty && !hasNewer && !shownVersion && canEdit;
  const canSaveAgain = isUnedited && (!!refusal || Object.values(snapshot?.steps ?? {}).some((section) => section?.status === "denied"));
  const dismissRefusal = () => {
    if (refusal) client.dismiss(refusal.key);
  };
  // Problems of one version do not apply to the next; an edit that this version holds must not count as unsaved later.
  const onNewVersion = useEffectEvent(() => {
    dismissRefusal();
    if (edit !== stored) setEdit(unedited);
  });
  useEffect(() => onNewVersion(), [plan.version]);
  const discard = () => {
    dismissRefusal();
    setEdit(startPlanEdit(plan));
  };
  const save = () => {
    dismissRefusal();
    command.send({ type: "edit", target: "plan", version: edit.base, goal: edit.goal.trim() || plan.goal, notes: edit.notes, steps });
  };

  return (
    <section className={panelStyles.panel} data-testid="plan-review" aria-label={fill(JOURNAL.plan, { number: plan.number })}>
      <header className={panelStyles.head}>
        <h2>{fill(JOURNAL.plan, { number: (shownVersion ?? base ?? plan).number })}</h2>
        <span className={typography.dimmed}>
          {authorText((shownVersion ?? base ?? plan).by, displayName)} · {wordFor(REVIEW_STATES, plan.status) ?? plan.status}
        </span>
        <VersionReason of={shownVersion ?? base} />
        <VersionBar versions={versions} newest={plan.version} selection={selection} onSelect={setSelection} disabled={isDirty} />
      </header>
      {hasNewer && isDirty && (
        <p className={typography.hint} role="alert">
          {fill(REVIEW.newer, { name: fill(JOURNAL.plan, { number: plan.number }) })}{" "}
          <Button size="compact-xs" onClick={() => setEdit(rebase(edit, plan))} data-testid="apply-mine">
            {fill(ACTIONS.apply_mine, { name: fill(JOURNAL.plan, { number: plan.number }) })}
          </Button>{" "}
          <Button size="compact-xs" variant="light" onClick={() => setEdit(startPlanEdit(plan))}>
            {fill(ACTIONS.show_newer, { name: fill(JOURNAL.plan, { number: plan.number }) })}
          </Button>
        </p>
      )}
      {comparedVersion && isExecutionPlan ? (
        <StepDiff before={comparedVersion} after={shownVersion ?? versions.at(-1) ?? comparedVersion} sections={snapshot?.steps ?? {}} versions={versions} />
      ) : comparedVersion ? (
        <DiffView before={planText(comparedVersion)} after={planText(shownVersion ?? versions.at(-1) ?? comparedVersion)} label={REVIEW.diff_plan} />
      ) : shownVersion ? (
        <PlanVersionView plan={shownVersion} onRestore={canEdit ? () => { setEdit(restoreVersion(edit, shownVersion)); setSelection(NO_SELECTION); } : null} />
      ) : (
        <>
          <InlineEdit label={REVIEW.goal} value={edit.goal} editable={canEdit} onChange={(goal) => setEdit({ ...edit, goal })} className={edit.goal.length > LONG_GOAL ? `${planTextStyles.goal} ${planTextStyles.long}` : planTextStyles.goal} testId="plan-goal" />
          <PlanSteps
            edit={edit}
            editable={canEdit}
            onChange={setEdit}
            sections={snapshot?.steps ?? {}}
            problems={stepProblems}
            nextId={isExecutionPlan ? freshId(edit, versions) : null}
            previews={previews}
            preapproved={isExecutionPlan && isInReview && can("approval") ? preapproved : null}
            onPreapprove={preapprove}
          />
          {!isDirty && <Checks checks={plan.checks ?? []} neutralWord={REVIEW.check_note} />}
          <InlineEdit label={REVIEW.notes} value={edit.notes} editable={canEdit} onChange={(notes) => setEdit({ ...edit, notes })} className={planTextStyles.notes} testId="plan-notes" />
          {plan.wishes && <p className={planTextStyles.notes}>{fill(REVIEW.wishes, { wishes: plan.wishes.join("; ") })}</p>}
        </>
      )}
      {isDirty && isRunning && (
        <p className={typography.hint} data-testid="edit-pauses">
          {REVIEW.edit_pauses}
        </p>
      )}
      <Decision
        target="text"
        version={plan.version}
        hash={plan.hash}
        preapprove={isExecutionPlan ? preapproved : undefined}
        problem={isDirty && refusal ? withStepNumbers(refusal, stepProblems, edit) : command.error}
        blockedReason={edit.form ? REVIEW.form_first : isDirty ? REVIEW.save_first : shownVersion ? REVIEW.other_version : isStillRunning ? REVIEW.still_running : ""}
      >
        {canSaveAgain && (
          <Button data-testid="save-again" variant="default" loading={command.busy} onClick={save}>
            {ACTIONS.save_again}
          </Button>
        )}
        {isDirty && (
          <>
            <Button data-testid="edit-save" disabled={steps.length === 0 || hasNewer || !!edit.form} loading={command.busy} {...keepFocusHandlers(save)}>
              {ACTIONS.save_version}
            </Button>
            <Button data-testid="edit-discard" variant="default" {...keepFocusHandlers(discard)}>
              {ACTIONS.discard_edits}
            </Button>
          </>
        )}
      </Decision>
    </section>
  );
}

/** A step shows its own problems. This notice lists the affected steps and the problems of the whole plan. */
function withStepNumbers(error: Notice, stepProblems: NonNullable<Notice["steps"]>, edit: PlanEdit): Notice {
  const numbers = stepNumbers(Object.keys(stepProblems), edit.steps).sort((a, b) => a - b);
  if (numbers.length === 0) return error;
  const where = numbers.length === 1 ? fill(REVIEW.step_wrong, { number: numbers[0] ?? 0 }) : fill(REVIEW.steps_wrong, { numbers: numbers.join(", ") });
  return { ...error, text: [where, ...(stepProblems[""] ?? [])].join(" "), hint: "" };
}

/** Prevents blur on mouse down: closing an open field would move the button away under the pointer. */
function keepFocusHandlers(action: () => void) {
  return {
    onMouseDown: (event: MouseEvent) => event.preventDefault(),
    onClick: () => {
      if (document.activeElement instanceof HTMLTextAreaElement) document.activeElement.blur();
      action();
    },
  };
}

function PlanVersionView({ plan, onRestore }: { plan: ReturnType<typeof planVersions>[number]; onRestore: (() => void) | null }) {
  return (
    <div className={planTextStyles.old}>
      <p className={planTextStyles.goal}>
        <InlineText text={plan.goal} />
      </p>
      <ol>
        {plan.steps.map((step, index) => (
          <li key={index}>
            <InlineText text={step.text} />
            {step.tool && <StepCall step={step} number={index + 1} steps={startPlanEdit(plan).steps} />}
          </li>
        ))}
      </ol>
      {plan.notes && <p className={typography.dimmed}>{plan.notes}</p>}
      {onRestore && (
        <Button size="compact-sm" variant="light" onClick={onRestore}>
          {ACTIONS.restore}
        </Button>
      )}
    </div>
  );
}
