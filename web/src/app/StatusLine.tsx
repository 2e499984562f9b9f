import { Button, Loader, Tooltip } from "@mantine/core";
import { ACTIONS, COMPOSER, fill, named, PHASES, SIGNS, STATUS } from "../generated/words";
import { useElapsed, useStopKeys } from "../ui/hooks";
import { PauseSign, PlaySign, StopSign } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { moment } from "../ui/format";
import { answering, type Snapshot, worker } from "../state/state";
import { useAct, useCan, useSession } from "./session";

export function StatusLine() {
  const { state, link, pending, client } = useSession();
  const can = useCan();
  const stopping = useAct();
  const pausing = useAct();
  const service = worker(state.snapshot);
  const elapsed = useElapsed(service ? sinceOf(state) : null);
  const stop = () => stopping.send({ type: "stop" });
  const stoppable = can("stop");
  useStopKeys(stoppable, service !== null, stop);
  const phase = state.snapshot?.phase ?? "";
  const words = answering(state.snapshot) ? PHASES.replying : named(PHASES, `${state.snapshot?.workflow}_${phase}`) ?? named(PHASES, phase) ?? PHASES.working;
  const doing = service ? `${service} ${words}` : "";
  const idle = state.snapshot ? waiting(state.snapshot, can("retry")) : state.sessionId === null ? COMPOSER.keys : "";
  return (
    <div className="status-line">
      <div className="status-words">
        <span role="status" aria-live="polite" data-testid="status">
          {link !== "online" ? (
            <>
              {link === "connecting" ? STATUS.connecting : link === "busy" ? STATUS.busy : STATUS.offline}
              {pending.length > 0 && ` · ${fill(STATUS.unsent, { count: pending.length })}`}
            </>
          ) : (
            <>
              {service && <Loader size={12} mr={6} aria-hidden="true" />}
              {doing || idle}
            </>
          )}
        </span>
        {link === "online" && elapsed !== null && <span aria-hidden="true"> · {elapsed} s</span>}
        {(link === "offline" || link === "busy") && (
          <Button size="compact-xs" variant="subtle" onClick={client.reconnect}>
            {STATUS.retry_now}
          </Button>
        )}
        <Problem error={stopping.error ?? pausing.error} />
      </div>
      {can("pause") && service && (
        <Button size="compact-sm" variant="default" leftSection={<PauseSign size={14} />} loading={pausing.busy} onClick={() => pausing.send({ type: "pause" })} data-testid="pause">
          {ACTIONS.pause}
        </Button>
      )}
      {can("unpause") && (
        <Button size="compact-sm" variant="filled" leftSection={<PlaySign size={14} />} loading={pausing.busy} onClick={() => pausing.send({ type: "unpause" })} data-testid="unpause">
          {ACTIONS.resume}
        </Button>
      )}
      {stoppable && (
        <Tooltip label={service ? SIGNS.stop_keys_working : SIGNS.stop_keys}>
          <Button
            size="compact-sm"
            variant={service ? "filled" : "default"}
            color={service ? "red" : undefined}
            leftSection={<StopSign size={14} />}
            loading={stopping.busy}
            onClick={stop}
            data-testid="stop"
          >
            {ACTIONS.stop}
          </Button>
        </Tooltip>
      )}
    </div>
  );
}

/** When the present work began: at the newest event that is not about money or words in passing. */
function sinceOf({ events }: ReturnType<typeof useSession>["state"]): string | null {
  const began = events.findLast((event) => event.type !== "usage.recorded" && !(event.type === "message.received" && event.intent === "guidance"));
  return began?.at ?? null;
}

function waiting({ phase, reason, paused, steps }: Snapshot, unfinished: boolean): string {
  if (paused) return STATUS.paused;
  if (phase.startsWith("awaiting")) return STATUS.your_turn;
  if (phase === "escalated") return STATUS.escalated;
  if (phase === "waiting") {
    const [first] = Object.values(steps).flatMap((step) => (step?.poll ? [] : (step?.until ?? []))).toSorted();
    return first ? fill(STATUS.waiting_until, { until: moment(first) }) : STATUS.waiting;
  }
  if (phase === "failed") return STATUS.failed;
  if (reason === "approved") return STATUS.approved;
  if (reason === "answered" && unfinished) return STATUS.unfinished;
  return reason === "stopped" ? STATUS.stopped : reason === "completed" ? STATUS.done : STATUS.ready;
}
