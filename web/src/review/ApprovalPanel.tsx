// Actions that need approval: a card for each with a preview of its changes, bound to its exact arguments.
import { Button } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useCommand, useCommands, useSession } from "../app/sessionContext";
import { SqlApproval, sqlOf } from "../flow/SqlApproval";
import { ACTIONS, fill, REVIEW } from "../words";
import { previewAction } from "../net/api";
import type { ActionSection } from "../protocol";
import { Badge } from "../ui/Badge";
import { Changes, type PreviewState } from "../ui/Changes";
import { Arguments } from "../ui/Details";
import { CheckIcon, CloseIcon } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { errorMessage } from "../ui/useFetch";
import { approvalCommand, approvalReason, DeclineForm, useDeclineReason } from "./approval";
import approvalStyles from "./approval.module.css";
import buttons from "../ui/buttons.module.css";
import callHeadStyles from "../ui/callHead.module.css";
import panelStyles from "./panel.module.css";
import typography from "../ui/typography.module.css";

const MAX_PREVIEW_WAIT_MS = 2_000; // a decision does not wait longer for a preview
const MAX_READS_WAIT_MS = 30_000; // nor for the results of look-ups beside it

export default function ApprovalPanel() {
  const isExecuting = useSession(({ state }) => state.snapshot?.phase === "executing");
  const actions = useSession(({ state: { snapshot } }) => snapshot?.approval_request?.actions.flatMap((id) => snapshot.actions[id] ?? []));
  const batch = useCommands();
  const panel = useRef<HTMLElement>(null);
  const ids = actions?.map((action) => action.action_id).join(" ") ?? "";
  const previousIds = useRef(ids);

  // When a decided card disappears, focus the next card, not its button: an extra key press would press that.
  useEffect(() => {
    const hasChanged = previousIds.current !== ids && ids !== "";
    previousIds.current = ids;
    if (hasChanged && document.activeElement?.matches("body, main")) panel.current?.querySelector<HTMLElement>("[role=group]")?.focus();
  }, [ids]);

  const readsFirst = useReadsFirst(isExecuting);
  if (!actions) return null;
  const approveAll = () => batch.send(actions.map((action) => approvalCommand(action)));
  return (
    <section className={panelStyles.panel} data-testid="approval-request" aria-label={REVIEW.actions} ref={panel}>
      <h2>{panelTitle(actions)}</h2>
      {readsFirst ? <p className={typography.hint}>{REVIEW.reads_first}</p> : actions.length > 1 && <p className={typography.hint}>{REVIEW.all_first}</p>}
      {actions.map((action) => {
        const sql = sqlOf(action);
        const key = `${action.action_id} ${action.hash}`;
        return sql === null ? <ActionApproval key={key} action={action} waits={readsFirst} /> : <SqlApproval key={key} action={action} sql={sql} />;
      })}
      {actions.length > 1 && !readsFirst && (
        <div className={buttons.row}>
          <Button size="sm" variant="light" leftSection={<CheckIcon />} loading={batch.busy} onClick={approveAll} data-testid="approve-all">
            {fill(ACTIONS.approve_all, { count: actions.length })}
          </Button>
        </div>
      )}
      {batch.errors.map((error) => (
        <Problem key={error.key} error={error} />
      ))}
    </section>
  );
}

function panelTitle(actions: readonly ActionSection[]): string {
  const [first] = actions;
  if (actions.length > 1) return fill(REVIEW.approve_changes, { count: actions.length });
  if (first && sqlOf(first) !== null) return REVIEW.approve_query;
  return first?.effect === "read" ? REVIEW.approve_read : REVIEW.approve_change;
}

/** Whether decisions still wait for the results of look-ups: while those run, MAX_READS_WAIT_MS at most. */
function useReadsFirst(areRunning: boolean): boolean {
  const [isWaitOver, setIsWaitOver] = useState(false);
  useEffect(() => {
    if (!areRunning) return;
    const timer = setTimeout(() => setIsWaitOver(true), MAX_READS_WAIT_MS);
    return () => {
      clearTimeout(timer);
      setIsWaitOver(false);
    };
  }, [areRunning]);
  return areRunning && !isWaitOver;
}

function ActionApproval({ action, waits }: { action: ActionSection; waits: boolean }) {
  const command = useCommand();
  const { previewState, isReady } = usePreview(action);
  const decline = useDeclineReason(action);
  const titleId = `approval-${action.action_id}`;
  return (
    <div className={approvalStyles.approval} role="group" tabIndex={-1} aria-labelledby={titleId} aria-busy={!isReady} data-testid="action-request">
      <p className={callHeadStyles.head} id={titleId}>
        <Badge tone={action.effect === "read" ? "plain" : action.effect === "write" ? "wait" : "bad"}>{action.effect}</Badge>
        <strong className={callHeadStyles.text}>{action.text || action.tool}</strong>
        <code>{action.tool}</code>
      </p>
      <Arguments values={action.arguments} />
      {action.repairs && action.repairs.length > 0 && <p className={typography.dimmed}>{fill(REVIEW.repaired, { what: action.repairs.join("; ") })}</p>}
      <Changes state={previewState} />
      {action.approval && <p className={typography.hint}>{approvalReason(action)}</p>}
      {isReady && decline.isOpen && <DeclineForm action={action} command={command} reason={decline.draft} onClose={() => decline.setOpen(false)} />}
      {isReady && !decline.isOpen && (
        <div className={buttons.row}>
          <Button size="sm" leftSection={<CheckIcon />} loading={command.busy} disabled={waits} onClick={() => command.send(approvalCommand(action))} data-testid="action-approve">
            {ACTIONS.approve}
          </Button>
          <Button size="sm" variant="default" leftSection={<CloseIcon />} disabled={command.busy || waits} onClick={() => decline.setOpen(true)} data-testid="action-refuse">
            {ACTIONS.decline}…
          </Button>
          <Button
            size="sm"
            variant="subtle"
            className={buttons.multiline}
            loading={command.busy}
            disabled={waits}
            onClick={() => command.send(approvalCommand(action, { remember: true }))}
            data-testid="action-remember"
            title={fill(ACTIONS.approve_always_hint, { tool: action.tool })}
          >
            {ACTIONS.approve_always}
          </Button>
        </div>
      )}
      <Problem error={command.error} />
    </div>
  );
}

/**
 * Loads the preview of an action. `isReady` turns true when the preview arrives, fails to load, or takes longer than
 * MAX_PREVIEW_WAIT_MS. Until then this card hides its buttons, and approval.module.css the cards and buttons below it,
 * so that a preview that arrives in that time cannot move a button.
 */
function usePreview(action: ActionSection): { previewState: PreviewState; isReady: boolean } {
  const sessionId = useSession(({ state }) => state.sessionId);
  const [previewState, setPreviewState] = useState<PreviewState>("loading");
  const [isWaitOver, setIsWaitOver] = useState(false);
  useEffect(() => {
    if (sessionId === null) return;
    const aborter = new AbortController();
    previewAction(sessionId, action.action_id, aborter.signal)
      .then((preview) => setPreviewState({ preview }))
      .catch((error: unknown) => !aborter.signal.aborted && setPreviewState({ problem: errorMessage(error) }));
    const timer = setTimeout(() => setIsWaitOver(true), MAX_PREVIEW_WAIT_MS);
    return () => {
      aborter.abort();
      clearTimeout(timer);
    };
  }, [sessionId, action.action_id, action.hash]);
  return { previewState, isReady: previewState !== "loading" || isWaitOver };
}
