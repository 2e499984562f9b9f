// A query before it runs: as it is, as the person wants it, or not at all.
import { Button } from "@mantine/core";
import { lazy, Suspense, useState } from "react";
import { useAct, useCan, useSession } from "../app/session";
import { ACTIONS, PATHS, REVIEW } from "../generated/words";
import type { ActionSection } from "../protocol";
import { approval, askedBecause, Refusal } from "../review/approval";
import { Check, Cross, Pen } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { toolOf } from "./spec";

const SqlEditor = lazy(() => import("../code/SqlEditor"));
const AFTER_EDIT = ["validate_sql", "execute_sql", "format_final_response"];
const TOOL = /^(.+)\.execute_sql$/;

/** The query that an action would run, if it is one. */
export function sqlOf(action: ActionSection): string | null {
  return TOOL.test(action.tool) && typeof action.arguments.sql === "string" ? action.arguments.sql : null;
}

export function SqlApproval({ action, sql }: { action: ActionSection; sql: string }) {
  const { state } = useSession();
  const can = useCan();
  const act = useAct();
  const [text, setText] = useState<string | null>(null);
  const [back, setBack] = useState(false); // the focus returns to the button when the editor is left
  const [refusing, setRefusing] = useState(false);
  const changed = text !== null && text.trim() !== "" && text !== sql;
  const save = () => {
    const flow = TOOL.exec(action.tool)?.[1] ?? "";
    const id = state.snapshot?.path_standing?.after ?? "";
    act.send({ type: "edit_path", after: id, nodes: AFTER_EDIT.map((node) => toolOf(flow, node)), given: { sql: text } });
  };
  return (
    <div className="approval" role="group" tabIndex={-1} aria-label={PATHS.query} data-testid="sql-request">
      <Suspense fallback={<pre className="code-waiting">{sql}</pre>}>
        <SqlEditor value={sql} label={text === null ? PATHS.query : PATHS.query_your_version} onChange={text === null ? undefined : setText} />
      </Suspense>
      {text !== null && <p className="hint">{PATHS.check_again} {REVIEW.leave_editor}</p>}
      {action.approval && text === null && <p className="hint">{askedBecause(action)}</p>}
      {refusing ? (
        <Refusal action={action} act={act} onClose={() => setRefusing(false)} />
      ) : (
        <div className="decision-buttons">
          {text === null ? (
            <>
              <Button size="sm" leftSection={<Check />} loading={act.busy} onClick={() => act.send(approval(action))} data-testid="action-approve">
                {PATHS.query_run}
              </Button>
              {can("edit_path") && (
                <Button size="sm" variant="default" leftSection={<Pen />} autoFocus={back} disabled={act.busy} onClick={() => setText(sql)} data-testid="sql-edit">
                  {ACTIONS.edit}
                </Button>
              )}
              <Button size="sm" variant="default" leftSection={<Cross />} disabled={act.busy} onClick={() => setRefusing(true)} data-testid="action-refuse">
                {ACTIONS.decline}…
              </Button>
              <Button size="sm" variant="subtle" className="wraps" loading={act.busy} onClick={() => act.send(approval(action, { remember: true }))} data-testid="action-remember">
                {PATHS.query_run_always}
              </Button>
            </>
          ) : (
            <>
              <Button size="sm" leftSection={<Check />} disabled={!changed} loading={act.busy} onClick={save} data-testid="sql-save">
                {PATHS.query_yours}
              </Button>
              <Button size="sm" variant="subtle" onClick={() => (setBack(true), setText(null))} data-testid="sql-discard">
                {ACTIONS.discard_edits}
              </Button>
            </>
          )}
        </div>
      )}
      <Problem error={act.error} />
    </div>
  );
}
