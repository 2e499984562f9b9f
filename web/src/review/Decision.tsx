// The buttons under a plan or code in review: yes to exactly this, say what to change, or something else instead.
import { Button, Textarea } from "@mantine/core";
import { type ReactNode, useEffect, useEffectEvent, useState } from "react";
import { useAct, useCan, useSession } from "../app/session";
import { ACTIONS, REVIEW } from "../generated/words";
import type { Notice } from "../state/state";
import { Check, Redo, Speech } from "../ui/icons";
import { Problem } from "../ui/Problem";

interface Props {
  target: "text" | "code";
  /** The version and content that are on the screen: what an approval is bound to. */
  version: number;
  hash: string;
  /** Why approving is not possible at the moment, if it is not. */
  blocked: string;
  /** Of a plan that acts: the steps that are allowed with whatever values they get. It can be started later, too. */
  preapprove?: readonly string[];
  /** Other words for the yes and for another try. */
  yes?: string;
  again?: string;
  /** What was refused beside the yes and another try, such as an edit. */
  problem?: Notice | null;
  /** More buttons, such as those of an edit. */
  children?: ReactNode;
}

export function Decision({ target, version, hash, blocked, preapprove, yes, again, problem = null, children }: Props) {
  const { state } = useSession();
  const can = useCan();
  const approving = useAct();
  const replanning = useAct();
  const [talking, setTalking] = useState(false);
  const { snapshot } = state;
  const reviewed = snapshot?.review?.target === (target === "text" ? "plan" : "code");
  const refused = snapshot?.feedback_request?.plan_type === target;
  const other = again ?? (target === "text" ? ACTIONS.different_plan : ACTIONS.different_code);
  const yesTo = { type: "approval", approved: true, version, hash, ...(preapprove?.length ? { preapprove: [...preapprove] } : {}) } as const;
  const approve = () => approving.send(yesTo);
  useApproveKeys(!!reviewed && can("approval") && !blocked && !approving.busy, approve);
  return (
    <div className="decision">
      {(talking || refused) && <FeedbackForm onDone={() => setTalking(false)} onClose={refused ? null : () => setTalking(false)} />}
      <div className="decision-buttons">
        {reviewed && can("approval") && (
          <Button
            data-testid="approve"
            leftSection={<Check />}
            disabled={!!blocked}
            loading={approving.busy}
            onClick={approve}
          >
            {yes ?? (target === "text" ? ACTIONS.approve_plan : ACTIONS.approve_code)}
          </Button>
        )}
        {reviewed && can("approval") && preapprove && (
          <Button variant="default" data-testid="approve-later" disabled={!!blocked} loading={approving.busy} onClick={() => approving.send({ ...yesTo, start: false })}>
            {ACTIONS.approve_later}
          </Button>
        )}
        {reviewed && can("feedback") && !talking && !blocked && (
          <Button variant="default" data-testid="feedback" leftSection={<Speech />} onClick={() => setTalking(true)}>
            {ACTIONS.ask_for_changes}
          </Button>
        )}
        {can("replan") && !blocked && (
          <Button
            variant="subtle"
            data-testid="replan"
            leftSection={<Redo />}
            loading={replanning.busy}
            onClick={() => replanning.send({ type: "replan", plan_type: target, version })}
          >
            {other}
          </Button>
        )}
        {children}
      </div>
      {blocked && reviewed && (
        <p className="hint" data-testid="blocked">
          {blocked}
        </p>
      )}
      <Problem error={approving.error ?? replanning.error ?? problem} />
    </div>
  );
}

function FeedbackForm({ onDone, onClose }: { onDone: () => void; onClose: (() => void) | null }) {
  const act = useAct();
  const [text, setText] = useState("");
  const send = () => {
    if (!text.trim()) return;
    act.send({ type: "feedback", content: text.trim() });
    setText("");
    onDone();
  };
  return (
    <form
      className="feedback"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Textarea
        label={REVIEW.feedback}
        data-testid="feedback-input"
        autosize
        minRows={2}
        maxRows={8}
        autoFocus
        maxLength={50_000}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            send();
          }
          if (event.key === "Escape" && onClose) {
            event.stopPropagation();
            onClose();
          }
        }}
      />
      <div className="decision-buttons">
        <Button type="submit" size="sm" data-testid="feedback-send" disabled={!text.trim()} loading={act.busy}>
          {REVIEW.send}
        </Button>
        {onClose && (
          <Button size="sm" variant="subtle" onClick={onClose}>
            {ACTIONS.close}
          </Button>
        )}
      </div>
      <Problem error={act.error} />
    </form>
  );
}

/** Ctrl+Enter (or Cmd+Enter) approves what is in review: not out of a text that one writes, nor behind a dialog. */
function useApproveKeys(enabled: boolean, approve: () => void): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const field = event.target instanceof Element ? event.target.closest("input, textarea, [contenteditable=true]") : null;
    const writing = field !== null && !(field instanceof HTMLTextAreaElement && field.closest("#composer") && field.value === "");
    if (!enabled || writing || document.querySelector("[role=dialog]") || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    approve();
  });
  useEffect(() => {
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
