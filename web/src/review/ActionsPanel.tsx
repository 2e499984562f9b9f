// Actions that run only after a yes: a card each, with what the action would change, bound to its exact arguments.
import { Button } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useAct, useActs, useSession } from "../app/session";
import { SqlApproval, sqlOf } from "../flow/SqlApproval";
import { ACTIONS, fill, REVIEW } from "../generated/words";
import { previewAction } from "../net/api";
import type { ActionSection } from "../protocol";
import { type Asked, Changes } from "../ui/Changes";
import { Check, Cross } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { Tone } from "../ui/Tone";
import { Arguments } from "../ui/Details";
import { approval, askedBecause, Refusal } from "./approval";

const PATIENCE = 2_000; // milliseconds: a decision does not wait for a preview that does not come

export default function ActionsPanel() {
  const { state } = useSession();
  const all = useActs();
  const box = useRef<HTMLElement>(null);
  const { snapshot } = state;
  const asked = snapshot?.approval_request?.actions.flatMap((id) => snapshot.actions[id] ?? []);
  const ids = asked?.map((action) => action.action_id).join(" ") ?? "";
  const before = useRef(ids);

  // A decided card is gone, and the focus with it: it goes on to the next card, not to its button, which a key pressed
  // once too often would press.
  useEffect(() => {
    const fewer = before.current !== ids && ids !== "";
    before.current = ids;
    if (fewer && document.activeElement?.matches("body, main")) box.current?.querySelector<HTMLElement>(".approval")?.focus();
  }, [ids]);

  if (!asked) return null;
  const approveAll = () => all.send(asked.map((action) => approval(action)));
  return (
    <section className="panel" data-testid="approval-request" aria-label={REVIEW.actions} ref={box}>
      <h2>{headOf(asked)}</h2>
      {asked.length > 1 && <p className="hint">{REVIEW.all_first}</p>}
      {asked.map((action) => {
        const sql = sqlOf(action);
        const key = `${action.action_id} ${action.hash}`;
        return sql === null ? <Approval key={key} action={action} /> : <SqlApproval key={key} action={action} sql={sql} />;
      })}
      {asked.length > 1 && (
        <div className="decision-buttons">
          <Button size="sm" variant="light" leftSection={<Check />} loading={all.busy} onClick={approveAll} data-testid="approve-all">
            {fill(ACTIONS.approve_all, { count: asked.length })}
          </Button>
        </div>
      )}
      {all.errors.map((error) => (
        <Problem key={error.key} error={error} />
      ))}
    </section>
  );
}

function headOf(actions: readonly ActionSection[]): string {
  const [first] = actions;
  if (actions.length > 1) return fill(REVIEW.approve_changes, { count: actions.length });
  if (first && sqlOf(first) !== null) return REVIEW.approve_query;
  return first?.effect === "read" ? REVIEW.approve_read : REVIEW.approve_change;
}

function Approval({ action }: { action: ActionSection }) {
  const act = useAct();
  const { asked, ready } = usePreview(action);
  const [refusing, setRefusing] = useState(false);
  const title = `approval-${action.action_id}`;
  return (
    <div className="approval" role="group" tabIndex={-1} aria-labelledby={title} data-testid="action-request">
      <p className="action-head" id={title}>
        <Tone tone={action.effect === "read" ? "plain" : action.effect === "write" ? "wait" : "bad"}>{action.effect}</Tone>
        <strong className="action-text">{action.text || action.tool}</strong>
        <code>{action.tool}</code>
      </p>
      <Arguments values={action.arguments} />
      {action.repairs && action.repairs.length > 0 && <p className="dimmed">{fill(REVIEW.repaired, { what: action.repairs.join("; ") })}</p>}
      <Changes asked={asked} />
      {action.approval && <p className="hint">{askedBecause(action)}</p>}
      {ready && refusing && <Refusal action={action} act={act} onClose={() => setRefusing(false)} />}
      {ready && !refusing && (
        <div className="decision-buttons">
          <Button size="sm" leftSection={<Check />} loading={act.busy} onClick={() => act.send(approval(action))} data-testid="action-approve">
            {ACTIONS.approve}
          </Button>
          <Button size="sm" variant="default" leftSection={<Cross />} disabled={act.busy} onClick={() => setRefusing(true)} data-testid="action-refuse">
            {ACTIONS.decline}…
          </Button>
          <Button
            size="sm"
            variant="subtle"
            className="wraps"
            loading={act.busy}
            onClick={() => act.send(approval(action, { remember: true }))}
            data-testid="action-remember"
            title={fill(ACTIONS.approve_always_hint, { tool: action.tool })}
          >
            {ACTIONS.approve_always}
          </Button>
        </div>
      )}
      <Problem error={act.error} />
    </div>
  );
}

/** What the action would change. The buttons come when that is known, so that they do not move when it comes. */
function usePreview(action: ActionSection): { asked: Asked; ready: boolean } {
  const { state } = useSession();
  const [asked, setAsked] = useState<Asked>("asking");
  const [patient, setPatient] = useState(true);
  const sessionId = state.sessionId;
  useEffect(() => {
    if (sessionId === null) return;
    const aborter = new AbortController();
    previewAction(sessionId, action.action_id, aborter.signal)
      .then((preview) => setAsked({ preview }))
      .catch((error: unknown) => !aborter.signal.aborted && setAsked({ problem: error instanceof Error ? error.message : String(error) }));
    const timer = setTimeout(() => setPatient(false), PATIENCE);
    return () => {
      aborter.abort();
      clearTimeout(timer);
    };
  }, [sessionId, action.action_id, action.hash]);
  return { asked, ready: asked !== "asking" || !patient };
}
