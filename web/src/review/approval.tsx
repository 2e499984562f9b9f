// Shared by the approval cards of actions and queries: the approval command, the form to decline, and the reason.
import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import type { useCommand } from "../app/sessionContext";
import { ACTIONS, fill, JOURNAL, REASONS, REVIEW, wordFor } from "../generated/words";
import type { ActionSection } from "../protocol";

/** Why approval is needed, in a sentence. */
export function approvalReason({ approval, effect }: ActionSection): string {
  if (!approval || !wordFor(REASONS, approval)) return approval ? fill(JOURNAL.approval_needed, { reason: approval }) : "";
  return effect === "read" ? REVIEW.asks_always : effect === "write" ? REVIEW.asks_write : REVIEW.asks_irreversible;
}

export function approvalCommand(action: ActionSection, more: { approved?: boolean; remember?: boolean; reason?: string } = {}) {
  return { type: "approval", approved: true, action_id: action.action_id, hash: action.hash, ...more } as const;
}

export function DeclineForm({ action, command, onClose }: { action: ActionSection; command: ReturnType<typeof useCommand>; onClose: () => void }) {
  const [reason, setReason] = useState("");
  return (
    <form
      className="decline-form"
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
      <div className="decision-buttons">
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
