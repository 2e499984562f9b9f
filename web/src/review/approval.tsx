// Shared by the approval cards of actions and queries: the approval command, the form to decline, and the reason.
import { Button, TextInput } from "@mantine/core";
import type { useCommand } from "../app/sessionContext";
import { type DraftField, type OptionalField, useOptionalField } from "../app/useDraft";
import { ACTIONS, fill, JOURNAL, REASONS, REVIEW, wordFor } from "../words";
import type { ActionSection } from "../protocol";
import buttons from "../ui/buttons.module.css";

/** Why approval is needed, in a sentence. */
export function approvalReason({ approval, effect }: ActionSection): string {
  if (!approval || !wordFor(REASONS, approval)) return approval ? fill(JOURNAL.approval_needed, { reason: approval }) : "";
  return effect === "read" ? REVIEW.asks_always : effect === "write" ? REVIEW.asks_write : REVIEW.asks_irreversible;
}

export function approvalCommand(action: ActionSection, more: { approved?: boolean; remember?: boolean; reason?: string } = {}) {
  return { type: "approval", approved: true, action_id: action.action_id, hash: action.hash, ...more } as const;
}

/** The reason to decline the action. */
export const useDeclineReason = (action: ActionSection): OptionalField => useOptionalField(`decline ${action.action_id} ${action.hash}`);

interface DeclineProps {
  action: ActionSection;
  command: ReturnType<typeof useCommand>;
  reason: DraftField<string>;
  onClose: () => void;
}

export function DeclineForm({ action, command, reason: { value: reason, set: setReason }, onClose }: DeclineProps) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        command.send(approvalCommand(action, { approved: false, reason: reason.trim() }));
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <TextInput label={REVIEW.why_not} placeholder="optional" autoFocus maxLength={2000} value={reason} onChange={(event) => setReason(event.currentTarget.value)} data-testid="refuse-reason" />
      <div className={buttons.row}>
        <Button type="submit" size="sm" color="red" loading={command.busy} data-testid="action-deny">
          {ACTIONS.decline}
        </Button>
        <Button size="sm" variant="subtle" onClick={onClose}>
          {ACTIONS.back}
        </Button>
      </div>
    </form>
  );
}
