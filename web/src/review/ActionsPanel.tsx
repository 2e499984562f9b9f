// Actions that run only after a yes, each bound to its exact arguments.
import { Button } from "@mantine/core";
import { useAct, useSession } from "../app/session";
import type { ActionView } from "../protocol";
import { Check, Cross } from "../ui/icons";
import { Tone } from "../ui/Tone";
import { Problem } from "../ui/Problem";

export function ActionsPanel() {
  const { state } = useSession();
  const asked = state.snapshot?.approval_request;
  if (!asked) return null;
  return (
    <section className="panel" data-testid="approval-request" aria-label="Actions to approve">
      <p>{asked.message}</p>
      {asked.actions.map((action) => (
        <OneAction key={action.action_id} action={action} />
      ))}
    </section>
  );
}

function OneAction({ action }: { action: ActionView }) {
  const act = useAct();
  const decide = (approved: boolean, remember = false) =>
    act.send({ type: "approval", approved, action_id: action.action_id, hash: action.hash, remember });
  return (
    <div className="action" data-testid="action-request">
      <p className="action-head">
        <code>{action.tool}</code>
        <Tone tone={action.effect === "read" ? "plain" : action.effect === "write" ? "wait" : "bad"}>{action.effect}</Tone>
        {action.text}
      </p>
      {action.approval && <p className="hint">{action.approval}</p>}
      <pre tabIndex={0}>{JSON.stringify(action.arguments, null, 2)}</pre>
      <div className="decision-buttons">
        <Button size="sm" leftSection={<Check />} loading={act.busy} onClick={() => decide(true)} data-testid="action-approve">
          Allow
        </Button>
        <Button size="sm" variant="light" loading={act.busy} onClick={() => decide(true, true)}>
          Allow, and do not ask again for {action.tool}
        </Button>
        <Button size="sm" variant="default" leftSection={<Cross />} loading={act.busy} onClick={() => decide(false)} data-testid="action-deny">
          Refuse
        </Button>
      </div>
      <Problem error={act.error} />
    </div>
  );
}
