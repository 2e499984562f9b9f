// A query before it runs: approve it, edit it, or decline it.
import { Button } from "@mantine/core";
import { lazy, useState } from "react";
import { useCan, useCommand, useSession } from "../app/sessionContext";
import { isText, useDraft } from "../app/useDraft";
import { ACTIONS, PATHS, REVIEW } from "../words";
import type { ActionSection } from "../protocol";
import { approvalCommand, approvalReason, DeclineForm, useDeclineReason } from "../review/approval";
import { LazyBoundary } from "../ui/LazyBoundary";
import { CheckIcon, CloseIcon, EditIcon } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { toolOf } from "./spec";
import approvalStyles from "../review/approval.module.css";
import buttons from "../ui/buttons.module.css";
import codeStyles from "../code/code.module.css";
import typography from "../ui/typography.module.css";

const SqlEditor = lazy(() => import("../code/SqlEditor"));
const NODES_AFTER_EDIT = ["validate_sql", "execute_sql", "format_final_response"];
const EXECUTE_SQL = /^(.+)\.execute_sql$/;

/** The SQL that an action would run; null for other actions. */
export function sqlOf(action: ActionSection): string | null {
  return EXECUTE_SQL.test(action.tool) && typeof action.arguments.sql === "string" ? action.arguments.sql : null;
}

export function SqlApproval({ action, sql }: { action: ActionSection; sql: string }) {
  const after = useSession(({ state }) => state.snapshot?.path_standing?.after ?? "");
  const can = useCan();
  const command = useCommand();
  const { value: text, set: setText } = useDraft<string | null>(`sql ${action.action_id} ${action.hash}`, null, isText);
  const [restoreFocus, setRestoreFocus] = useState(false); // return focus to the button when the editor closes
  const decline = useDeclineReason(action);
  const isChanged = text !== null && text.trim() !== "" && text !== sql;
  const save = () => {
    const flow = EXECUTE_SQL.exec(action.tool)?.[1] ?? "";
    command.send({ type: "edit_path", after, nodes: NODES_AFTER_EDIT.map((node) => toolOf(flow, node)), given: { sql: text } });
  };
  return (
    <div className={approvalStyles.approval} role="group" tabIndex={-1} aria-label={PATHS.query} data-testid="sql-request">
      <LazyBoundary fallback={<pre className={codeStyles.waiting} data-loading>{sql}</pre>}>
        <SqlEditor value={text ?? sql} label={text === null ? PATHS.query : PATHS.query_your_version} onChange={text === null ? undefined : setText} />
      </LazyBoundary>
      {text !== null && <p className={typography.hint}>{PATHS.check_again} {REVIEW.leave_editor}</p>}
      {action.approval && text === null && <p className={typography.hint}>{approvalReason(action)}</p>}
      {decline.isOpen ? (
        <DeclineForm action={action} command={command} reason={decline.draft} onClose={() => decline.setOpen(false)} />
      ) : (
        <div className={buttons.row}>
          {text === null ? (
            <>
              <Button size="sm" leftSection={<CheckIcon />} loading={command.busy} onClick={() => command.send(approvalCommand(action))} data-testid="action-approve">
                {PATHS.query_run}
              </Button>
              {can("edit_path") && (
                <Button size="sm" variant="default" leftSection={<EditIcon />} autoFocus={restoreFocus} disabled={command.busy} onClick={() => setText(sql)} data-testid="sql-edit">
                  {ACTIONS.edit}
                </Button>
              )}
              <Button size="sm" variant="default" leftSection={<CloseIcon />} disabled={command.busy} onClick={() => decline.setOpen(true)} data-testid="action-refuse">
                {ACTIONS.decline}…
              </Button>
              <Button size="sm" variant="subtle" className={buttons.multiline} loading={command.busy} onClick={() => command.send(approvalCommand(action, { remember: true }))} data-testid="action-remember">
                {PATHS.query_run_always}
              </Button>
            </>
          ) : (
            <>
              <Button size="sm" leftSection={<CheckIcon />} disabled={!isChanged} loading={command.busy} onClick={save} data-testid="sql-save">
                {PATHS.query_yours}
              </Button>
              <Button size="sm" variant="subtle" onClick={() => (setRestoreFocus(true), setText(null))} data-testid="sql-discard">
                {ACTIONS.discard_edits}
              </Button>
            </>
          )}
        </div>
      )}
      <Problem error={command.error} />
    </div>
  );
}
