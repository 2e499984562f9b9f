// What went wrong or was stopped, and how to go on from there.
import { Button } from "@mantine/core";
import { lazy, Suspense } from "react";
import { useAct, useCan, useSession } from "../app/session";
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
  if (!snapshot || (!failure && !stopped) || (stopped && !can("retry"))) return null;
  return (
    <section className={`panel ${failure ? "panel-bad" : ""}`} data-testid="failure" aria-label={failure ? "Failure" : "Stopped"}>
      <h2>{failure ? `Failed while ${failure.stage}` : "Stopped"}</h2>
      <p>{failure?.reason ?? "Go on where it stopped, or say what you want instead."}</p>
      {stopped && snapshot.turn && (
        <Suspense>
          <StopReport />
        </Suspense>
      )}
      {failure?.raw && (
        <details>
          <summary>What the model said</summary>
          <pre tabIndex={0}>{failure.raw}</pre>
        </details>
      )}
      {failure && !failure.retryable && <p className="hint">Trying again will not help unless something changes first.</p>}
      {can("retry") && (
        <div className="decision-buttons">
          <Button leftSection={<Redo />} variant={failure ? "filled" : "light"} loading={act.busy} onClick={() => act.send({ type: "retry" })} data-testid="retry">
            {failure ? "Try again" : "Go on"}
          </Button>
        </div>
      )}
      <Problem error={act.error} />
    </section>
  );
}
