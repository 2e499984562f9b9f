// A draft that is offered beside what waits or runs: what it is, and the choice between it and what is there.
import { Button } from "@mantine/core";
import { lazy } from "react";
import { useCan, useCommand } from "../app/sessionContext";
import { ACTIONS, fill, REVIEW } from "../words";
import type { ActionSpec, OfferSection, StepSection } from "../protocol";
import { holdsChanges, type Snapshot } from "../state/state";
import { Arguments } from "../ui/Details";
import { EffectBadge } from "../ui/EffectBadge";
import { LazyBoundary } from "../ui/LazyBoundary";
import { InlineText } from "../ui/InlineText";
import { Markdown } from "../ui/Markdown";
import { Problem } from "../ui/Problem";
import { DiffView } from "./DiffView";
import { type OfferedSteps, offeredSteps } from "./offeredSteps";
import { startPlanEdit } from "./planEdit";
import { StepCall } from "./StepCall";
import { ChangeBadge, ChangedParts, StepStatus } from "./StepDiff";
import styles from "./OfferPanel.module.css";
import buttons from "../ui/buttons.module.css";
import callHeadStyles from "../ui/callHead.module.css";
import codeStyles from "../code/code.module.css";
import panelStyles from "./panel.module.css";
import planTextStyles from "./planText.module.css";
import stepDiffStyles from "./StepDiff.module.css";
import stepNumberStyles from "./stepNumber.module.css";
import typography from "../ui/typography.module.css";

const CodeEditor = lazy(() => import("../code/CodeEditor"));

type Offered<T extends OfferSection["draft"]["type"]> = Extract<OfferSection["draft"], { type: T }>;
const TITLES = { plan: REVIEW.offer_plan, code: REVIEW.offer_code, turn: REVIEW.offer_turn };

/** A turn without calls: it would take away what waits. */
const isNothing = (draft: OfferSection["draft"]) => draft.type === "turn" && draft.actions.length === 0;

export default function OfferPanel({ offer: { version, draft }, snapshot }: { offer: OfferSection; snapshot: Snapshot }) {
  const can = useCan();
  const command = useCommand();
  const nothing = isNothing(draft);
  const title = nothing ? REVIEW.offer_nothing : TITLES[draft.type];
  const isReviewed = draft.type === "code" || (draft.type === "plan" && snapshot.settings.require_plan_approval !== false);
  return (
    <section className={`${panelStyles.panel} ${styles.offer}`} data-testid="offer" aria-label={title}>
      <h2>{title}</h2>
      {draft.type === "plan" ? <OfferedPlan draft={draft} snapshot={snapshot} /> : draft.type === "code" ? <OfferedCode draft={draft} code={snapshot.code} /> : <OfferedTurn draft={draft} />}
      <p className={typography.hint}>{[isReviewed && REVIEW.offer_reviewed, holdsChanges(snapshot) && REVIEW.offer_holds].filter(Boolean).join(" ")}</p>
      <div className={buttons.row}>
        {can("take_offer") && (
          <Button data-testid="offer-take" loading={command.busy} onClick={() => command.send({ type: "take_offer", version })}>
            {nothing ? ACTIONS.take_nothing : ACTIONS.take_offer}
          </Button>
        )}
        {can("keep_offer") && (
          <Button variant="default" data-testid="offer-keep" disabled={command.busy} onClick={() => command.send({ type: "keep_offer", version })}>
            {nothing ? ACTIONS.keep_waiting : ACTIONS.keep_offer}
          </Button>
        )}
      </div>
      <Problem error={command.error} />
    </section>
  );
}

function OfferedPlan({ draft, snapshot }: { draft: Offered<"plan">; snapshot: Snapshot }) {
  const { isRevision, rows } = offeredSteps(draft, snapshot.plan);
  const steps = startPlanEdit({ version: 0, goal: draft.goal, steps: draft.steps, notes: draft.notes ?? "" }).steps;
  return (
    <>
      <p className={planTextStyles.goal}>
        <InlineText text={draft.goal} />
      </p>
      <ol role="list" className={styles.steps} aria-label={isRevision ? REVIEW.offer_changes : REVIEW.steps}>
        {rows.map((row) => (
          <OfferedStep key={`${row.what} ${row.step.id ?? row.number}`} row={row} steps={steps} isRevision={isRevision} section={snapshot.steps[row.step.id ?? ""]} />
        ))}
      </ol>
      {draft.notes && <p className={planTextStyles.notes}>{draft.notes}</p>}
      {draft.drops && draft.drops.length > 0 && (
        <p className={typography.problem} data-testid="offer-drops">
          {fill(REVIEW.offer_drops, { steps: draft.drops.map((step) => `“${step}”`).join("; ") })}
        </p>
      )}
    </>
  );
}

/** A step; in a revision with what changes, and its call where that is new. */
interface StepProps {
  row: OfferedSteps["rows"][number];
  steps: ReturnType<typeof startPlanEdit>["steps"];
  isRevision: boolean;
  /** How the step stands in the plan that is there. */
  section: StepSection | undefined;
}

function OfferedStep({ row, steps, isRevision, section }: StepProps) {
  const { step, what, number, parts } = row;
  return (
    <li data-testid="offer-step" data-what={isRevision ? what : undefined}>
      <span className={stepNumberStyles.number} aria-hidden="true">
        {number ?? "–"}
      </span>
      <div className={styles.stepText}>
        <span className={what === "removed" ? stepDiffStyles.removed : undefined}>
          <InlineText text={step.text} />
        </span>{" "}
        {isRevision && what !== "same" && <ChangeBadge what={what} />}
        {isRevision && <StepStatus section={section} />}
        {step.tool && what === "new" && number !== null && <StepCall step={step} number={number} steps={steps} />}
        <ChangedParts parts={parts} />
      </div>
    </li>
  );
}

function OfferedCode({ draft, code }: { draft: Offered<"code">; code: Snapshot["code"] }) {
  return (
    <>
      {draft.explanation && <Markdown text={draft.explanation} />}
      {code && code.status !== "superseded" ? (
        <DiffView python before={code.code} after={draft.code} label={REVIEW.diff_code} />
      ) : (
        <LazyBoundary fallback={<pre className={codeStyles.waiting} data-loading>{draft.code}</pre>}>
          <CodeEditor value={draft.code} label={REVIEW.offer_code} />
        </LazyBoundary>
      )}
    </>
  );
}

function OfferedTurn({ draft }: { draft: Offered<"turn"> }) {
  return (
    <>
      <p className={planTextStyles.goal}>
        <InlineText text={isNothing(draft) ? draft.reasoning || draft.sub_goal : draft.sub_goal} />
      </p>
      {draft.actions.map((action) => (
        <OfferedCall key={action.id} action={action} />
      ))}
    </>
  );
}

function OfferedCall({ action }: { action: ActionSpec }) {
  return (
    <div className={styles.call} data-testid="offer-call">
      <p className={callHeadStyles.head}>
        <strong className={callHeadStyles.text}>{action.description || action.tool}</strong>
        <code>{action.tool}</code>
        <EffectBadge effect={action.effect ?? "read"} />
      </p>
      <Arguments values={action.arguments ?? {}} />
    </div>
  );
}
