// The buttons under a plan or code in review: approve this exact version, give feedback, or ask for another.
import { Button, Textarea } from "@mantine/core";
import { type ReactNode, useEffect, useEffectEvent } from "react";
import { type CommandSender, useCan, useCommand, useSession } from "../app/sessionContext";
import { type DraftField, useOptionalField } from "../app/useDraft";
import { MAX_LENGTH, TooLong } from "../compose/TooLong";
import { ACTIONS, REVIEW } from "../words";
import { codePointLength } from "../state/codePoints";
import type { Notice } from "../state/state";
import { CheckIcon, RetryIcon, CommentIcon } from "../ui/icons";
import { Problem } from "../ui/Problem";
import styles from "./Decision.module.css";
import buttons from "../ui/buttons.module.css";
import typography from "../ui/typography.module.css";

interface Props {
  target: "text" | "code";
  /** The version on the screen and its content hash: an approval is bound to both. */
  version: number;
  hash: string;
  /** Why approval is not possible now; "" if it is. */
  blockedReason: string;
  /** Steps of an execution plan to allow with any values. Such a plan can also be started later. */
  preapprove?: readonly string[];
  /** Other labels for approve and replan. */
  approveLabel?: string;
  replanLabel?: string;
  /** A refusal of another command to show here, for example of an edit. */
  problem?: Notice | null;
  /** More buttons, for example those of an edit. */
  children?: ReactNode;
}

export function Decision({ target, version, hash, blockedReason, preapprove, approveLabel, replanLabel, problem = null, children }: Props) {
  const { isInReview, isRejected } = useSession(({ state: { snapshot } }) => ({
    isInReview: snapshot?.review?.target === (target === "text" ? "plan" : "code"),
    isRejected: snapshot?.feedback_request?.plan_type === target,
  }));
  const can = useCan();
  const approveCommand = useCommand();
  const replanCommand = useCommand();
  const feedbackCommand = useCommand();
  const feedback = useOptionalField(`feedback ${target}`);
  const replanText = replanLabel ?? (target === "text" ? ACTIONS.different_plan : ACTIONS.different_code);
  const approval = { type: "approval", approved: true, version, hash, ...(preapprove?.length ? { preapprove: [...preapprove] } : {}) } as const;
  const approve = () => approveCommand.send(approval);
  useApproveKeys(isInReview && can("approval") && !blockedReason && !approveCommand.busy, approve);
  return (
    <div className={styles.decision}>
      {(feedback.isOpen || isRejected) && <FeedbackForm draft={feedback.draft} command={feedbackCommand} onDone={() => feedback.setOpen(null)} onClose={isRejected ? null : () => feedback.setOpen(false)} />}
      <div className={`${buttons.row} ${styles.buttons}`}>
        {isInReview && can("approval") && (
          <Button
            data-testid="approve"
            leftSection={<CheckIcon />}
            disabled={!!blockedReason}
            loading={approveCommand.busy}
            onClick={approve}
          >
            {approveLabel ?? (target === "text" ? ACTIONS.approve_plan : ACTIONS.approve_code)}
          </Button>
        )}
        {isInReview && can("approval") && preapprove && (
          <Button variant="default" data-testid="approve-later" disabled={!!blockedReason} loading={approveCommand.busy} onClick={() => approveCommand.send({ ...approval, start: false })}>
            {ACTIONS.approve_later}
          </Button>
        )}
        {isInReview && can("feedback") && !feedback.isOpen && !blockedReason && (
          <Button variant="default" data-testid="feedback" leftSection={<CommentIcon />} onClick={() => feedback.setOpen(true)}>
            {ACTIONS.ask_for_changes}
          </Button>
        )}
        {can("replan") && !blockedReason && (
          <Button
            variant="subtle"
            data-testid="replan"
            leftSection={<RetryIcon />}
            loading={replanCommand.busy}
            onClick={() => replanCommand.send({ type: "replan", plan_type: target, version })}
          >
            {replanText}
          </Button>
        )}
        {children}
      </div>
      {blockedReason && isInReview && (
        <p className={typography.hint} data-testid="blocked">
          {blockedReason}
        </p>
      )}
      <Problem error={approveCommand.error ?? replanCommand.error ?? problem} />
    </div>
  );
}

interface FeedbackProps {
  draft: DraftField<string>;
  command: CommandSender;
  onDone: () => void;
  onClose: (() => void) | null;
}

function FeedbackForm({ draft, command, onDone, onClose }: FeedbackProps) {
  const content = draft.value.trim();
  const canSend = content !== "" && codePointLength(content) <= MAX_LENGTH;
  const send = () => {
    if (!canSend) return;
    command.send({ type: "feedback", content }, [draft.key]);
    onDone();
  };
  return (
    <form
      className={styles.feedback}
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
        value={draft.value}
        onChange={(event) => draft.set(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey) {
            event.preventDefault();
            send();
          }
          if (event.key === "Escape" && onClose) {
            event.stopPropagation();
            onClose();
          }
        }}
      />
      <TooLong text={content} />
      <div className={buttons.row}>
        <Button type="submit" size="sm" data-testid="feedback-send" disabled={!canSend} loading={command.busy}>
          {REVIEW.send}
        </Button>
        {onClose && (
          <Button size="sm" variant="subtle" onClick={onClose}>
            {ACTIONS.close}
          </Button>
        )}
      </div>
      <Problem error={command.error} />
    </form>
  );
}

/** Ctrl+Enter (or Cmd+Enter) approves the current review, except from a text field in use or behind a dialog. */
function useApproveKeys(enabled: boolean, approve: () => void): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const field = event.target instanceof Element ? event.target.closest("input, textarea, [contenteditable=true]") : null;
    const isWriting = field !== null && !(field instanceof HTMLTextAreaElement && field.closest("#composer") && field.value === "");
    if (!enabled || isWriting || document.querySelector("[role=dialog]") || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    approve();
  });
  useEffect(() => {
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
