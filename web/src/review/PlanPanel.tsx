// A plan as editable steps, its versions and what changed between any two of them.
import { Button } from "@mantine/core";
import { useMemo, useState } from "react";
import { useAct, useCan, useNameOf, useSession } from "../app/session";
import type { PlanView } from "../protocol";
import { planLines, planVersions } from "../state/versions";
import { InlineText } from "../ui/InlineText";
import { Problem } from "../ui/Problem";
import { Decision } from "./Decision";
import { DiffView } from "./DiffView";
import { begin, differs, type PlanEdit, restore, stepsOf } from "./planEdit";
import { PlanSteps } from "./PlanSteps";
import { InPlace } from "./InPlace";
import { type Choice, VersionBar } from "./VersionBar";

const LONG_GOAL = 160; // characters: from here on it is a paragraph and no title

export default function PlanPanel({ plan }: { plan: PlanView }) {
  const { state } = useSession();
  const can = useCan();
  const nameOf = useNameOf();
  const saving = useAct();
  const versions = useMemo(() => planVersions(state.events, state.snapshot), [state.events, state.snapshot]);
  const [edit, setEdit] = useState<PlanEdit>(() => begin(plan));
  const [choice, setChoice] = useState<Choice>({ shown: null, against: null });

  const base = versions.find((one) => one.version === edit.base);
  const dirty = !!base && differs(edit, base);
  const newer = edit.base !== plan.version;
  // A new version is shown at once, unless that would throw away what the person has typed.
  if (newer && (!dirty || !differs(edit, plan))) {
    setEdit(begin(plan));
    setChoice({ shown: null, against: null });
  }
  const editable = can("edit");
  const shown = versions.find((one) => one.version === choice.shown);
  const against = versions.find((one) => one.version === choice.against);
  const steps = stepsOf(edit);
  const save = () =>
    saving.send({ type: "edit", target: "plan", version: edit.base, goal: edit.goal.trim() || plan.goal, notes: edit.notes, steps });

  return (
    <section className="panel" data-testid="plan-review" aria-label={`Plan ${plan.number}`}>
      <header className="panel-head">
        <h2>Plan {(shown ?? base ?? plan).number}</h2>
        <span className="dimmed">
          by {nameOf((shown ?? base ?? plan).by)} · {plan.status.replace("_", " ")}
        </span>
        <VersionBar versions={versions} newest={plan.version} choice={choice} onChoice={setChoice} disabled={dirty} />
      </header>
      {newer && dirty && (
        <p className="hint" role="alert">
          Plan {plan.number} exists now, and you are editing an older one.{" "}
          <Button size="compact-xs" variant="light" onClick={() => setEdit(begin(plan))}>
            Drop my edits and show it
          </Button>
        </p>
      )}
      {against ? (
        <DiffView before={planLines(against)} after={planLines(shown ?? versions.at(-1) ?? against)} label="What changed in the plan" />
      ) : shown ? (
        <OldPlan plan={shown} onRestore={editable ? () => { setEdit(restore(edit, shown)); setChoice({ shown: null, against: null }); } : null} />
      ) : (
        <>
          <InPlace label="Goal" value={edit.goal} editable={editable} onChange={(goal) => setEdit({ ...edit, goal })} className={edit.goal.length > LONG_GOAL ? "plan-goal plan-goal-long" : "plan-goal"} testId="plan-goal" />
          <PlanSteps edit={edit} editable={editable} onChange={setEdit} />
          <InPlace label="Notes" value={edit.notes} editable={editable} onChange={(notes) => setEdit({ ...edit, notes })} className="plan-notes" testId="plan-notes" />
        </>
      )}
      <Decision
        target="text"
        version={plan.version}
        hash={plan.hash}
        blocked={dirty ? "Save or discard your edits first." : shown ? "You are looking at another version: show the newest to decide." : ""}
      >
        {dirty && (
          <>
            <Button data-testid="edit-save" disabled={steps.length === 0 || newer} loading={saving.busy} onClick={save}>
              Save as new version
            </Button>
            <Button data-testid="edit-discard" variant="default" onClick={() => setEdit(begin(plan))}>
              Discard edits
            </Button>
          </>
        )}
      </Decision>
      <Problem error={saving.error} />
    </section>
  );
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
          </li>
        ))}
      </ol>
      {plan.notes && <p className="dimmed">{plan.notes}</p>}
      {onRestore && (
        <Button size="compact-sm" variant="light" onClick={onRestore}>
          Take this one up again
        </Button>
      )}
    </div>
  );
}
