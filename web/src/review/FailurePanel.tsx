// A failed, stopped or unfinished session, and how to continue.
import { Button } from "@mantine/core";
import { lazy } from "react";
import { useCan, useCommand, useSnapshot } from "../app/sessionContext";
import { ACTIONS, fill, REVIEW, STATES, STATUS, TROUBLE } from "../words";
import type { Snapshot } from "../state/state";
import { LazyBoundary } from "../ui/LazyBoundary";
import { PlayIcon, RetryIcon } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { NextButtons } from "./NextPanel";
import buttons from "../ui/buttons.module.css";
import panelStyles from "./panel.module.css";
import typography from "../ui/typography.module.css";

const StopReport = lazy(() => import("./StopReport"));

export function FailurePanel() {
  const snapshot = useSnapshot();
  const can = useCan();
  const command = useCommand();
  const failure = snapshot?.failure;
  const isStopped = snapshot?.phase === "resting" && snapshot.reason === "stopped";
  // The approved plan waits for the user to start it.
  const isNotStarted = snapshot?.phase === "resting" && snapshot.reason === "approved" && can("retry");
  const isUnfinished = snapshot?.phase === "resting" && !isStopped && can("retry"); // some steps of its plan failed
  if (snapshot?.phase === "resting" && snapshot.plan?.kind === "execution" && snapshot.plan.status === "cancelled" && snapshot.turn) return <CancelledPlan />;
  if (!snapshot || (!failure && !isStopped && !isUnfinished) || (isStopped && !can("retry"))) return null;
  const title = isStopped ? STATUS.stopped : isNotStarted ? STATUS.approved : REVIEW.plan_open;
  const hint = isStopped ? REVIEW.stopped_hint : isNotStarted ? REVIEW.approved_hint : REVIEW.plan_open_hint;
  return (
    <section className={`${panelStyles.panel} ${failure ? panelStyles.bad : ""}`} data-testid="failure" aria-label={failure ? STATES.failed : title}>
      <h2>{failure ? fill(TROUBLE.failed_while, { stage: failure.stage }) : title}</h2>
      <p>{failure?.reason ?? hint}</p>
      {isStopped && snapshot.turn && (
        <LazyBoundary>
          <StopReport />
        </LazyBoundary>
      )}
      {isUnfinished && <FailedSteps snapshot={snapshot} />}
      {failure?.raw && (
        <details>
          <summary>{REVIEW.raw_reply}</summary>
          <pre tabIndex={0}>{failure.raw}</pre>
        </details>
      )}
      {failure && !failure.retryable && <p className={typography.hint}>{TROUBLE.retry_useless}</p>}
      {can("retry") && (
        <div className={buttons.row}>
          <Button leftSection={isNotStarted ? <PlayIcon /> : <RetryIcon />} variant={failure || isUnfinished ? "filled" : "light"} loading={command.busy} onClick={() => command.send({ type: "retry" })} data-testid="retry">
            {isStopped ? ACTIONS.resume : isNotStarted ? ACTIONS.start : ACTIONS.retry}
          </Button>
          {isUnfinished && <NextButtons />}
        </div>
      )}
      <Problem error={command.error} />
    </section>
  );
}

/** The failed steps, with their reasons. */
function FailedSteps({ snapshot }: { snapshot: Snapshot }) {
  const failed = (snapshot.plan?.steps ?? []).flatMap(({ id, text }, index) => {
    const why = snapshot.steps[id ?? ""]?.problem;
    return why ? [fill(REVIEW.plan_open_step, { number: index + 1, text, why })] : [];
  });
  return failed.map((line) => (
    <p key={line} className={typography.problem} data-testid="failed-step">
      {line}
    </p>
  ));
}

/** Shows which steps of a plan ran before it was cancelled. */
function CancelledPlan() {
  return (
    <section className={panelStyles.panel} data-testid="cancelled" aria-label={REVIEW.plan_cancelled}>
      <h2>{REVIEW.plan_cancelled}</h2>
      <LazyBoundary>
        <StopReport />
      </LazyBoundary>
    </section>
  );
}
