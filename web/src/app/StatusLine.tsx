import { Button, Loader, Tooltip, VisuallyHidden } from "@mantine/core";
import { useState } from "react";
import { ACTIONS, COMPOSER, fill, PHASES, SIGNS, STATUS, wordFor } from "../generated/words";
import { activeDraft, activeService, isReplying, type Snapshot } from "../state/state";
import { formatDateTime } from "../ui/format";
import { useElapsed, useStopKeys } from "../ui/hooks";
import { PauseIcon, PlayIcon, StopIcon } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { useCan, useCommand, useSession } from "./sessionContext";

export function StatusLine() {
  const { state, connection, pending, client } = useSession();
  const can = useCan();
  const stopCommand = useCommand();
  const pauseCommand = useCommand();
  const service = activeService(state.snapshot);
  const elapsed = useElapsed(service ? workStartedAt(state) : null);
  const stop = () => stopCommand.send({ type: "stop" });
  const canStop = can("stop");
  useStopKeys(canStop, service !== null, stop);
  const phase = state.snapshot?.phase ?? "";
  const phaseLabel = isReplying(state.snapshot) ? PHASES.replying : wordFor(PHASES, `${state.snapshot?.workflow}_${phase}`) ?? wordFor(PHASES, phase) ?? PHASES.working;
  const activity = service ? `${service} ${phaseLabel}` : "";
  const wait = activeDraft(state)?.wait;
  const idle = state.snapshot ? idleStatus(state.snapshot, can("retry")) : state.sessionId === null ? COMPOSER.keys : "";
  return (
    <div className="status-line">
      <div className="status-words">
        <span role="status" aria-live="polite" data-testid="status">
          {connection !== "online" ? (
            <>
              {connection === "connecting" ? STATUS.connecting : connection === "busy" ? STATUS.busy : STATUS.offline}
              {pending.length > 0 && ` · ${fill(STATUS.unsent, { count: pending.length })}`}
            </>
          ) : (
            <>
              {service && <Loader size={12} mr={6} aria-hidden="true" />}
              {wait ? (
                <ModelWait key={wait} seconds={wait}>
                  {activity}
                </ModelWait>
              ) : (
                activity || idle
              )}
            </>
          )}
        </span>
        {connection === "online" && elapsed !== null && !wait && <span aria-hidden="true"> · {elapsed} s</span>}
        {(connection === "offline" || connection === "busy") && (
          <Button size="compact-xs" variant="subtle" onClick={client.reconnect}>
            {STATUS.retry_now}
          </Button>
        )}
        <Problem error={stopCommand.error ?? pauseCommand.error} />
      </div>
      {can("pause") && service && (
        <Button size="compact-sm" variant="default" leftSection={<PauseIcon size={14} />} loading={pauseCommand.busy} onClick={() => pauseCommand.send({ type: "pause" })} data-testid="pause">
          {ACTIONS.pause}
        </Button>
      )}
      {can("unpause") && (
        <Button size="compact-sm" variant="filled" leftSection={<PlayIcon size={14} />} loading={pauseCommand.busy} onClick={() => pauseCommand.send({ type: "unpause" })} data-testid="unpause">
          {ACTIONS.resume}
        </Button>
      )}
      {canStop && (
        <Tooltip label={service ? SIGNS.stop_keys_working : SIGNS.stop_keys}>
          <Button
            size="compact-sm"
            variant={service ? "filled" : "default"}
            color={service ? "red" : undefined}
            leftSection={<StopIcon size={14} />}
            loading={stopCommand.busy}
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

/** How long the model's server asks to wait, counted down for the eye and said once to a screen reader; then `children`. */
function ModelWait({ seconds, children }: { seconds: number; children: string }) {
  const [since] = useState(() => new Date().toISOString());
  const remaining = seconds - (useElapsed(since) ?? 0);
  if (remaining <= 0) return children;
  return (
    <>
      <span aria-hidden="true">{fill(STATUS.model_waits, { seconds: remaining })}</span>
      <VisuallyHidden>{fill(STATUS.model_waits, { seconds })}</VisuallyHidden>
    </>
  );
}

/** When the current work started: the time of the newest event, except usage records and guidance messages. */
function workStartedAt({ events }: ReturnType<typeof useSession>["state"]): string | null {
  const newest = events.findLast((event) => event.type !== "usage.recorded" && !(event.type === "message.received" && event.intent === "guidance"));
  return newest?.at ?? null;
}

function idleStatus({ phase, reason, paused, steps }: Snapshot, isUnfinished: boolean): string {
  if (paused) return STATUS.paused;
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
