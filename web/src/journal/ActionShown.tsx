// One action: a line that says how it stands, and all there is to know about it when it is opened.
import { Button, Loader } from "@mantine/core";
import { useState } from "react";
import { useAct, useCan, useNameOf, useSession } from "../app/session";
import { ACTIONS, fill, JOURNAL, named, REASONS, REVIEW, RULINGS } from "../generated/words";
import { artefactUrl } from "../net/api";
import { Download } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { Tone } from "../ui/Tone";
import { bytes, inline, seconds } from "../ui/values";
import { Arguments } from "../ui/Details";
import { isRun, Result } from "./Result";
import type { ActionEntry } from "./entries";

const OPEN: ReadonlySet<ActionEntry["state"]> = new Set(["planned", "approved", "waiting"]);

export function ActionShown({ action, turn }: { action: ActionEntry; turn: number }) {
  const { state } = useSession();
  const failed = action.state === "failed" || action.state === "denied";
  const skippable = OPEN.has(action.state) || (failed && state.snapshot?.phase === "resting");
  return (
    <div className="action-row">
      <One action={action} turn={turn} />
      {skippable && <Skip id={action.spec.id} />}
    </div>
  );
}

function One({ action, turn }: { action: ActionEntry; turn: number }) {
  const { spec, state } = action;
  const nameOf = useNameOf();
  const [opened, setOpened] = useState<boolean | null>(null);
  return (
    <details
      className="action"
      id={`action-${spec.id}`}
      data-testid="action"
      data-state={state}
      open={opened ?? isRun(action.result)}
      onToggle={(event) => setOpened(event.currentTarget.open)}
    >
      <summary>
        <span className="action-head">
          {state === "started" && <Loader size={12} aria-hidden="true" />}
          <Tone tone={action.tone}>{action.word}</Tone>
          <code>{spec.tool}</code>
          {spec.tool !== "run_code" && <span className="action-text">{spec.description || brief(spec.arguments)}</span>}
          {action.seconds > 0 && <span className="dimmed action-time">{seconds(action.seconds)}</span>}
        </span>
        <span className="action-gist" data-testid="action-gist">
          {gistOf(action, action.decided_by && nameOf(action.decided_by))}
        </span>
      </summary>
      <div className="action-body">
        {spec.tool !== "run_code" && <Arguments values={spec.arguments} />}
        {spec.repairs.length > 0 && (
          <p className="dimmed" data-testid="repairs">
            {fill(REVIEW.repaired, { what: spec.repairs.join("; ") })}
          </p>
        )}
        <p className="dimmed">{rulingOf(action, action.decided_by && nameOf(action.decided_by))}</p>
        {action.error && <p className="problem">{action.error}</p>}
        {action.result !== null && <Result result={action.result} />}
        {action.artefact && <Whole action={action} turn={turn} />}
      </div>
    </details>
  );
}

/** What came of it; where a person decided and gave no reason, who that was. */
function gistOf({ state, gist, error }: ActionEntry, decider: string): string {
  if (!decider || error || (state !== "approved" && state !== "denied")) return gist;
  return fill(state === "denied" ? JOURNAL.declined_by : JOURNAL.allowed_by, { who: decider });
}

function brief(values: Record<string, unknown>): string {
  return Object.values(values).map(inline).join(", ");
}

function rulingOf({ spec, state }: ActionEntry, decider: string): string {
  const decided = decider ? fill(state === "denied" ? JOURNAL.declined_by : JOURNAL.allowed_by, { who: decider }) : "";
  return [`${spec.id} · ${spec.effect}`, spec.decision_reason || (spec.approval_reason && (named(REASONS, spec.approval_reason) ?? spec.approval_reason)) || RULINGS[spec.decision], decided].filter(Boolean).join(" · ");
}

function Whole({ action, turn }: { action: ActionEntry; turn: number }) {
  const { state } = useSession();
  if (!action.artefact || state.sessionId === null) return null;
  return (
    <p className="dimmed artefact">
      {fill(JOURNAL.beginning, { size: bytes(action.artefact.size) })}
      <Button
        component="a"
        href={artefactUrl(state.sessionId, turn, action.spec.id)}
        download
        size="compact-xs"
        variant="default"
        leftSection={<Download size={14} />}
        data-testid="artefact"
      >
        {ACTIONS.download}
      </Button>
    </p>
  );
}

function Skip({ id }: { id: string }) {
  const { state } = useSession();
  const can = useCan();
  const act = useAct();
  const mine = !!state.snapshot?.actions[id];
  if (!mine || !can("skip")) return null;
  return (
    <div className="action-skip">
      <Button size="compact-xs" variant="default" loading={act.busy} onClick={() => act.send({ type: "skip", action_id: id })} data-testid="skip" aria-label={`${ACTIONS.skip}: ${id}`}>
        {ACTIONS.skip}
      </Button>
      <Problem error={act.error} />
    </div>
  );
}
