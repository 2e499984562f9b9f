// After a stop in a turn, or after a cancelled plan: what was done, what may still happen, and what will not.
import { useSession } from "../app/sessionContext";
import { REVIEW } from "../generated/words";
import type { ActionEntry, TurnEntry } from "../journal/entries";
import { useEntries } from "../journal/useEntries";
import styles from "./StopReport.module.css";
import typography from "../ui/typography.module.css";

export default function StopReport() {
  const { number, cancelled } = useSession(({ state: { snapshot } }) => ({ number: snapshot?.turn?.number, cancelled: snapshot?.plan?.status === "cancelled" }));
  const turn = useEntries().findLast((entry): entry is TurnEntry => entry.kind === "turn" && entry.number === number);
  if (!turn || (turn.verdict && !cancelled)) return null;
  const inState = (...states: ActionEntry["state"][]) => turn.actions.filter((action) => states.includes(action.state));
  const finished = inState("finished");
  const running = inState("started", "uncertain");
  return (
    <div className={styles.report} data-testid="stop-report">
      <Part title={REVIEW.stop_done} actions={finished} />
      <Part title={REVIEW.stop_running} actions={running} />
      <Part title={REVIEW.stop_never} actions={cancelled ? inState("skipped", "denied", "failed") : inState("skipped", "denied")} />
      {[...finished, ...running].every((action) => action.effect === "read") && <p className={typography.hint}>{REVIEW.stop_none}</p>}
    </div>
  );
}

function Part({ title, actions }: { title: string; actions: readonly ActionEntry[] }) {
  if (actions.length === 0) return null;
  return (
    <>
      <p>{title}:</p>
      <ul>
        {actions.map((action) => (
          <li key={action.key}>
            {action.description || action.tool} <span className={typography.dimmed}>({action.tool})</span>
          </li>
        ))}
      </ul>
    </>
  );
}
