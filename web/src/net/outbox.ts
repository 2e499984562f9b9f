// What the person asked for and the gateway has not yet recorded. It survives a lost connection and a reload; the ids
// make sending a message again harmless.
import type { Command, ServerMessage } from "../protocol";
import { passes } from "../state/state";

export interface Pending {
  id: string;
  /** null: the session that the next greeting names. */
  sessionId: string | null;
  command: Command;
}

const KEY = "parley.outbox";

export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The pending messages after one from the gateway: recorded and refused ones are done. Pure. */
export function settled(pending: readonly Pending[], message: ServerMessage): readonly Pending[] {
  const done = doneId(message);
  if (done === null) return message.type === "forked" ? pending.filter((one) => one.command.type !== "fork") : pending;
  return pending.some((one) => one.id === done) ? pending.filter((one) => one.id !== done) : pending;
}

function doneId(message: ServerMessage): string | null {
  if (message.type === "event") return message.event.id.slice(message.event.session_id.length + 1);
  return message.type === "error" && !passes(message) ? message.reply_to : null;
}

export function load(storage: Storage): readonly Pending[] {
  try {
    return JSON.parse(storage.getItem(KEY) ?? "[]") as Pending[];
  } catch {
    return [];
  }
}

export function save(storage: Storage, pending: readonly Pending[]): void {
  try {
    if (pending.length) storage.setItem(KEY, JSON.stringify(pending));
    else storage.removeItem(KEY);
  } catch {
    // a full or forbidden storage: the messages still live in this page
  }
}
