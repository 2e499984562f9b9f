// What goes on in a session, in words. Pure.
import { fill, PHASES, STATUS, wordFor } from "../words";
import { activeService, holdsChanges, type Snapshot } from "../state/state";
import { formatDateTime } from "../ui/format";

/** What goes on, beside each other: the work, the reply to a message, an offer that waits. */
export function activityOf(snapshot: Snapshot): string {
  const { reply, offer, phase, workflow } = snapshot;
  const service = activeService(snapshot);
  const work = service && `${service} ${wordFor(PHASES, `${workflow}_${phase}`) ?? wordFor(PHASES, phase) ?? PHASES.working}`;
  const replying = reply && fill(holdsChanges(snapshot) ? STATUS.replying_holds : STATUS.replying, { service: reply.service });
  return [work, replying, work && !reply && offer && STATUS.offer].filter(Boolean).join(" · ");
}

/** What the status line says while no service is at work. */
export function idleStatus({ phase, reason, paused, steps, offer }: Snapshot, isUnfinished: boolean): string {
  if (paused) return STATUS.paused;
  if (offer) return STATUS.offer;
  if (phase.startsWith("awaiting")) return STATUS.your_turn;
  if (phase === "escalated") return STATUS.escalated;
  if (phase === "waiting") {
    const [first] = Object.values(steps).flatMap((step) => (step?.poll ? [] : (step?.until ?? []))).toSorted();
    return first ? fill(STATUS.waiting_until, { until: formatDateTime(first) }) : STATUS.waiting;
  }
  if (phase === "failed") return STATUS.failed;
  if (reason === "approved") return STATUS.approved;
  if (reason === "answered" && isUnfinished) return STATUS.unfinished;
  return reason === "stopped" ? STATUS.stopped : reason === "completed" ? STATUS.done : STATUS.ready;
}
