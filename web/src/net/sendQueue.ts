// Commands that the gateway has not recorded yet. They survive a lost connection and a reload. Sending one again is
// harmless, because its id stays the same.
import type { Command, ServerMessage } from "../protocol";
import { isTransient } from "../state/state";
import type { SentDraft } from "../ui/drafts";

export interface PendingCommand {
  id: string;
  /** null for a new conversation until the gateway's greeting gives its id. */
  sessionId: string | null;
  command: Command;
  /** What the user typed for it. */
  drafts?: readonly SentDraft[];
}

const KEY = "parley.outbox";

export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The commands that are still pending after a message from the gateway. Pure. */
export function unsettled(pending: readonly PendingCommand[], message: ServerMessage): readonly PendingCommand[] {
  const id = settledId(message);
  if (id === null) return message.type === "forked" ? pending.filter((item) => item.command.type !== "fork") : pending;
  return pending.some((item) => item.id === id) ? pending.filter((item) => item.id !== id) : pending;
}

function settledId(message: ServerMessage): string | null {
  if (message.type === "event") return message.event_id.slice(message.session_id.length + 1);
  return message.type === "error" && !isTransient(message) ? message.reply_to : null;
}

export function loadPending(storage: Storage): readonly PendingCommand[] {
  try {
    return JSON.parse(storage.getItem(KEY) ?? "[]") as PendingCommand[];
  } catch {
    return [];
  }
}

export function savePending(storage: Storage, pending: readonly PendingCommand[]): void {
  try {
    if (pending.length) storage.setItem(KEY, JSON.stringify(pending));
    else storage.removeItem(KEY);
  } catch {
    // storage full or forbidden: the commands stay in memory
  }
}
