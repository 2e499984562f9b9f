// Stopped in the middle of a turn, or its plan cancelled: what happened, what may still happen, and what will not.
import { useSession } from "../app/session";
import { REVIEW } from "../generated/words";
import type { ActionEntry, TurnEntry } from "../journal/entries";
import { useEntries } from "../journal/useEntries";

export default function StopReport() {
  const { state } = useSession();
  const number = state.snapshot?.turn?.number;
  const turn = useEntries().findLast((one): one is TurnEntry => one.kind === "turn" && one.number === number);
  const cancelled = state.snapshot?.plan?.status === "cancelled";
  if (!turn || (turn.verdict && !cancelled)) return null;
  const of = (...states: ActionEntry["state"][]) => turn.actions.filter((one) => states.includes(one.state));
  const done = of("finished");
  const running = of("started", "uncertain");
  return (
    <div className="stop-report" data-testid="stop-report">
      <Part title={REVIEW.stop_done} actions={done} />
      <Part title={REVIEW.stop_running} actions={running} />
      <Part title={REVIEW.stop_never} actions={cancelled ? of("skipped", "denied", "failed") : of("skipped", "denied")} />
      {[...done, ...running].every((one) => one.spec.effect === "read") && <p className="hint">{REVIEW.stop_none}</p>}
    </div>
  );
}

function Part({ title, actions }: { title: string; actions: readonly ActionEntry[] }) {
  if (actions.length === 0) return null;
  return (
    <>
      <p>{title}:</p>
      <ul>
        {actions.map((one) => (
          <li key={one.key}>
            {one.spec.description || one.spec.tool} <span className="dimmed">({one.spec.tool})</span>
          </li>
        ))}
      </ul>
    </>
  );
}
