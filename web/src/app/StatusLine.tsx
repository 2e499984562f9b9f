import { Button, Loader, Tooltip, VisuallyHidden } from "@mantine/core";
import { useState } from "react";
import { ACTIONS, COMPOSER, fill, SIGNS, STATUS } from "../generated/words";
import { activeDraft, activeService, type SessionState, withdrawsMessage } from "../state/state";
import { useElapsed, useStopKeys } from "../ui/hooks";
import { PauseIcon, PlayIcon, StopIcon } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { activityOf, idleStatus } from "./activity";
import { useCan, useClient, useCommand, useSession, useSnapshot } from "./sessionContext";
import styles from "./StatusLine.module.css";

export function StatusLine() {
  const client = useClient();
  const snapshot = useSnapshot();
  const { connection, unsent, wait, isNew, since } = useSession(({ state, connection, pending }) => ({
    connection,
    unsent: pending.length,
    wait: activeDraft(state)?.wait,
    isNew: state.sessionId === null,
    since: workStartedAt(state),
  }));
  const can = useCan();
  const stopCommand = useCommand();
  const pauseCommand = useCommand();
  const service = activeService(snapshot);
  const elapsed = useElapsed(since);
  const stop = () => stopCommand.send({ type: "stop" });
  const canStop = can("stop");
  const isAtWork = service !== null || !!snapshot?.reply;
  useStopKeys(canStop, isAtWork, stop);
  const activity = snapshot ? activityOf(snapshot) : "";
  const isWithdrawal = withdrawsMessage(snapshot);
  const idle = snapshot ? idleStatus(snapshot, can("retry")) : isNew ? COMPOSER.keys : "";
  return (
    <div className={styles.statusLine}>
      <div className={styles.words}>
        <span role="status" aria-live="polite" data-testid="status">
          {connection !== "online" ? (
            <>
              {connection === "connecting" ? STATUS.connecting : connection === "busy" ? STATUS.busy : STATUS.offline}
              {unsent > 0 && ` · ${fill(STATUS.unsent, { count: unsent })}`}
            </>
          ) : (
            <>
              {isAtWork && <Loader size={12} mr={6} aria-hidden="true" />}
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
        <Tooltip label={isAtWork ? SIGNS.stop_keys_working : SIGNS.stop_keys}>
          <Button
            size="compact-sm"
            variant={isAtWork && !isWithdrawal ? "filled" : "default"}
            color={isAtWork && !isWithdrawal ? "red" : undefined}
            leftSection={<StopIcon size={14} />}
            loading={stopCommand.busy}
            onClick={stop}
            data-testid="stop"
          >
            {isWithdrawal ? ACTIONS.withdraw : ACTIONS.stop}
          </Button>
        </Tooltip>
      )}
    </div>
  );
}

/** How long the model's server asks to wait, counted down, and said once to a screen reader; then `children`. */
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

/** When the current reply or work began. */
function workStartedAt({ eventTimes, snapshot }: SessionState): string | null {
  const work = snapshot?.reply ?? (activeService(snapshot) ? snapshot?.work : null);
  return work ? (eventTimes[work.version - 1] ?? null) : null;
}
