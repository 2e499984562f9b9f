// What went wrong or was stopped, and how to go on from there.
import { Button } from "@mantine/core";
import { lazy, Suspense } from "react";
import { useAct, useCan, useSession } from "../app/session";
import { ACTIONS, fill, REVIEW, STATES, STATUS, TROUBLE } from "../generated/words";
import { PlaySign, Redo } from "../ui/icons";
import type { Snapshot } from "../state/state";
import { Problem } from "../ui/Problem";
import { NextButtons } from "./NextPanel";

const StopReport = lazy(() => import("./StopReport"));

export function FailurePanel() {
  const { state } = useSession();
  const can = useCan();
  const act = useAct();
  const { snapshot } = state;
  const failure = snapshot?.failure;
  const stopped = snapshot?.phase === "resting" && snapshot.reason === "stopped";
  const waits = snapshot?.phase === "resting" && snapshot.reason === "approved" && can("retry"); // for its start
  const open = snapshot?.phase === "resting" && !stopped && can("retry"); // steps of its plan came to nothing
  if (snapshot?.phase === "resting" && snapshot.plan?.kind === "execution" && snapshot.plan.status === "cancelled" && snapshot.turn) return <Cancelled />;
  if (!snapshot || (!failure && !stopped && !open) || (stopped && !can("retry"))) return null;
  const title = stopped ? STATUS.stopped : waits ? STATUS.approved : REVIEW.plan_open;
  const hint = stopped ? REVIEW.stopped_hint : waits ? REVIEW.approved_hint : REVIEW.plan_open_hint;
  return (
    <section className={`panel ${failure ? "panel-bad" : ""}`} data-testid="failure" aria-label={failure ? STATES.failed : title}>
      <h2>{failure ? fill(TROUBLE.failed_while, { stage: failure.stage }) : title}</h2>
      <p>{failure?.reason ?? hint}</p>
      {stopped && snapshot.turn && (
        <Suspense>
          <StopReport />
        </Suspense>
      )}
      {open && <Failed snapshot={snapshot} />}
      {failure?.raw && (
        <details>
          <summary>{REVIEW.raw_reply}</summary>
          <pre tabIndex={0}>{failure.raw}</pre>
        </details>
      )}
      {failure && !failure.retryable && <p className="hint">{TROUBLE.retry_useless}</p>}
      {can("retry") && (
        <div className="decision-buttons">
          <Button leftSection={waits ? <PlaySign /> : <Redo />} variant={failure || open ? "filled" : "light"} loading={act.busy} onClick={() => act.send({ type: "retry" })} data-testid="retry">
            {stopped ? ACTIONS.resume : waits ? ACTIONS.start : ACTIONS.retry}
          </Button>
          {open && <NextButtons />}
        </div>
      )}
      <Problem error={act.error} />
    </section>
  );
}

/** The steps that came to nothing, and why. */
function Failed({ snapshot }: { snapshot: Snapshot }) {
  const failed = (snapshot.plan?.steps ?? []).flatMap(({ id, text }, index) => {
    const why = snapshot.steps[id ?? ""]?.problem;
    return why ? [fill(REVIEW.plan_open_step, { number: index + 1, text, why })] : [];
  });
  return failed.map((line) => (
    <p key={line} className="problem" data-testid="failed-step">
      {line}
    </p>
  ));
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
