// What the cards of an action and of a query have in common: the yes to exactly this, the no, and why it is asked.
import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import type { useAct } from "../app/session";
import { ACTIONS, fill, JOURNAL, named, REASONS, REVIEW } from "../generated/words";
import type { ActionSection } from "../protocol";

/** Why this is asked, in a sentence. */
export function askedBecause({ approval, effect }: ActionSection): string {
  if (!approval || !named(REASONS, approval)) return approval ? fill(JOURNAL.approval_needed, { reason: approval }) : "";
  return effect === "read" ? REVIEW.asks_always : effect === "write" ? REVIEW.asks_write : REVIEW.asks_irreversible;
}

export function approval(action: ActionSection, more: { approved?: boolean; remember?: boolean; reason?: string } = {}) {
  return { type: "approval", approved: true, action_id: action.action_id, hash: action.hash, ...more } as const;
}

export function Refusal({ action, act, onClose }: { action: ActionSection; act: ReturnType<typeof useAct>; onClose: () => void }) {
  const [reason, setReason] = useState("");
  return (
    <form
      className="refusal"
      onSubmit={(event) => {
        event.preventDefault();
        act.send(approval(action, { approved: false, reason: reason.trim() }));
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <TextInput label={REVIEW.why_not} placeholder="optional" autoFocus maxLength={2000} value={reason} onChange={(event) => setReason(event.currentTarget.value)} data-testid="refuse-reason" />
      <div className="decision-buttons">
        <Button type="submit" size="sm" color="red" loading={act.busy} data-testid="action-deny">
          {ACTIONS.decline}
        </Button>
        <Button size="sm" variant="subtle" onClick={onClose}>
          {ACTIONS.back}
        </Button>
      </div>
    </form>
  );
}
