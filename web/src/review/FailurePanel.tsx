// What went wrong or was stopped, and how to go on from there.
import { Button } from "@mantine/core";
import { lazy, Suspense } from "react";
import { useAct, useCan, useSession } from "../app/session";
import { ACTIONS, fill, REVIEW, STATES, STATUS, TROUBLE } from "../generated/words";
import { Redo } from "../ui/icons";
import { Problem } from "../ui/Problem";

const StopReport = lazy(() => import("./StopReport"));

export function FailurePanel() {
  const { state } = useSession();
  const can = useCan();
  const act = useAct();
  const { snapshot } = state;
  const failure = snapshot?.failure;
  const stopped = snapshot?.phase === "resting" && snapshot.reason === "stopped";
  const open = snapshot?.phase === "resting" && !stopped && can("retry"); // steps of its plan came to nothing
  if (snapshot?.phase === "resting" && snapshot.plan?.kind === "execution" && snapshot.plan.status === "cancelled" && snapshot.turn) return <Cancelled />;
  if (!snapshot || (!failure && !stopped && !open) || (stopped && !can("retry"))) return null;
  return (
    <section className={`panel ${failure ? "panel-bad" : ""}`} data-testid="failure" aria-label={failure ? STATES.failed : stopped ? STATUS.stopped : REVIEW.plan_open}>
      <h2>{failure ? fill(TROUBLE.failed_while, { stage: failure.stage }) : stopped ? STATUS.stopped : REVIEW.plan_open}</h2>
      <p>{failure?.reason ?? (stopped ? REVIEW.stopped_hint : REVIEW.plan_open_hint)}</p>
      {stopped && snapshot.turn && (
        <Suspense>
          <StopReport />
        </Suspense>
      )}
      {failure?.raw && (
        <details>
          <summary>{REVIEW.raw_reply}</summary>
          <pre tabIndex={0}>{failure.raw}</pre>
        </details>
      )}
      {failure && !failure.retryable && <p className="hint">{TROUBLE.retry_useless}</p>}
      {can("retry") && (
        <div className="decision-buttons">
          <Button leftSection={<Redo />} variant={failure || open ? "filled" : "light"} loading={act.busy} onClick={() => act.send({ type: "retry" })} data-testid="retry">
            {stopped ? ACTIONS.resume : ACTIONS.retry}
          </Button>
        </div>
      )}
      <Problem error={act.error} />
    </section>
  );
}

/** A plan that was given up while it ran, or after it failed: what of it was done. */
function Cancelled() {
  return (
    <section className="panel" data-testid="cancelled" aria-label={REVIEW.plan_cancelled}>
      <h2>{REVIEW.plan_cancelled}</h2>
      <Suspense>
        <StopReport />
      </Suspense>
    </section>
  );
}
