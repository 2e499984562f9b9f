// Stopped in the middle of a turn: what happened, what may still happen, and what will not.
import { useMemo } from "react";
import { useSession } from "../app/session";
import { entries } from "../journal/entries";
import { type ActionEntry, stopReport } from "../journal/turns";

export default function StopReport() {
  const { state } = useSession();
  const report = useMemo(() => {
    const turn = entries(state.events).findLast((one) => one.kind === "turn" || (one.kind === "said" && one.intent === "request"));
    return turn?.kind === "turn" && !turn.verdict ? stopReport(turn.actions) : null;
  }, [state.events]);
  if (!report) return null;
  return (
    <div className="stop-report" data-testid="stop-report">
      <Part title="Done, and stays done" actions={report.done} />
      <Part title="Begun before the stop: its outcome is recorded when it is known" actions={report.running} />
      <Part title="Not done" actions={report.never} />
      {report.done.every((one) => one.spec.effect === "read") && report.running.every((one) => one.spec.effect === "read") && (
        <p className="hint">Nothing was changed in this turn.</p>
      )}
    </div>
  );
}

function Part({ title, actions }: { title: string; actions: ActionEntry[] }) {
  if (actions.length === 0) return null;
  return (
    <>
      <p>{title}:</p>
      <ul>
        {actions.map((one) => (
          <li key={one.spec.id}>
            {one.spec.description || one.spec.tool} <span className="dimmed">({one.spec.tool})</span>
          </li>
        ))}
      </ul>
    </>
  );
}
