import { Button, Loader, Tooltip } from "@mantine/core";
import { useElapsed, useStopKeys } from "../ui/hooks";
import { PauseSign, PlaySign, StopSign } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { answering, worker } from "../state/state";
import { useAct, useCan, useSession } from "./session";

// Where the same phase is another kind of work.
const WITH_TOOLS: Record<string, string> = { planning: "is planning the next turn", executing: "is running the actions of this turn" };
const WITH_FLOWS: Record<string, string> = { planning: "is planning the path", executing: "is walking the path" };
const ELSEWHERE: Record<string, Record<string, string>> = { agentflow: WITH_TOOLS, flow: WITH_FLOWS };
const DOING: Record<string, string> = {
  planning: "is drafting a plan",
  coding: "is writing the code",
  executing: "is running the actions",
  verifying: "is checking the result",
  answering: "is writing the answer",
};

export function StatusLine() {
  const { state, link, pending, client } = useSession();
  const can = useCan();
  const stopping = useAct();
  const pausing = useAct();
  const service = worker(state.snapshot);
  const elapsed = useElapsed(service ? sinceOf(state) : null);
  const stop = () => stopping.send({ type: "stop" });
  useStopKeys(can("stop"), service !== null, stop);
  const phase = state.snapshot?.phase ?? "";
  const words = answering(state.snapshot) ? "is answering what you said" : ELSEWHERE[state.snapshot?.workflow ?? ""]?.[phase] ?? DOING[phase] ?? "is at work";
  const doing = service ? `${service} ${words}` : "";
  const idle = state.snapshot ? waiting(state.snapshot.phase, state.snapshot.reason, state.snapshot.paused) : state.sessionId === null ? "Enter sends, Shift+Enter begins a new line" : "";
  return (
    <div className="status-line">
      <div className="status-words">
        <span role="status" aria-live="polite" data-testid="status">
          {link !== "online" ? (
            <>
              {link === "connecting" ? "Connecting…" : link === "busy" ? "Too many requests or open tabs: trying again" : "Offline: trying again"}
              {pending.length > 0 && ` · ${pending.length} to be sent`}
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
            Now
          </Button>
        )}
        <Problem error={stopping.error ?? pausing.error} />
      </div>
      {can("pause") && service && (
        <Button size="compact-sm" variant="default" leftSection={<PauseSign size={14} />} loading={pausing.busy} onClick={() => pausing.send({ type: "pause" })} data-testid="pause">
          Pause
        </Button>
      )}
      {can("unpause") && (
        <Button size="compact-sm" variant="filled" leftSection={<PlaySign size={14} />} loading={pausing.busy} onClick={() => pausing.send({ type: "unpause" })} data-testid="unpause">
          Go on
        </Button>
      )}
      {can("stop") && (
        <Tooltip label={service ? "Ctrl+. or Escape twice" : "Ctrl+."}>
          <Button
            size="compact-sm"
            variant={service ? "filled" : "default"}
            color={service ? "red" : undefined}
            leftSection={<StopSign size={14} />}
            loading={stopping.busy}
            onClick={stop}
            data-testid="stop"
          >
            Stop
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

function waiting(phase: string, reason: string, paused: boolean): string {
  if (paused) return "Paused: no new step begins";
  if (phase.startsWith("awaiting")) return "Your turn";
  if (phase === "escalated") return "A person must take over";
  if (phase === "failed") return "Failed: see why above";
  return reason === "stopped" ? "Stopped" : reason === "completed" ? "Completed" : "Ready";
}
