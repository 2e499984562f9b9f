// What the page knows of one session. Only `reduce` changes it.
import type { JournalEntry, ServerMessage, ServerMessageOf, Snapshot } from "../protocol";

export type { Snapshot };
export type Greeting = ServerMessageOf<"greeting">;
export type DraftKind = ServerMessageOf<"delta">["kind"];

export interface Draft {
  id: string;
  kind: DraftKind;
  text: string;
  /** The version of the work that the draft belongs to. */
  work: number;
  /** Whether a delta is missing: the next snapshot then brings the full text. */
  hasGap: boolean;
  /** Seconds that the model's server asked to wait when this arrived; 0: the model is at work. */
  wait: number;
}

export interface Notice {
  key: number;
  kind: "error" | "info";
  code: string;
  text: string;
  hint: string;
  /** Problems by step id of a plan; "": problems of the whole plan. */
  steps?: Readonly<Record<string, readonly string[] | undefined>>;
  /** The id of the refused message. */
  replyTo: string | null;
}

export interface SessionState {
  /** The id of this session; null before the first message of a new conversation. */
  sessionId: string | null;
  greeting: Greeting | null;
  snapshot: Snapshot | null;
  /** All events up to this version are applied. */
  appliedVersion: number;
  /** The time of each applied event: of version 1, 2, … */
  eventTimes: readonly string[];
  /** The journal entries by key. */
  journal: ReadonlyMap<string, JournalEntry>;
  /** The highest version seen, applied or not. */
  newestVersion: number;
  draft: Draft | null;
  /** The draft that the last event ended: late deltas of it are dropped. */
  endedDraft: string | null;
  notices: readonly Notice[];
  lastNoticeKey: number;
  /** Why the session cannot be shown: it does not exist, or belongs to another user. */
  missing: string | null;
  /** The session created by a `fork`. */
  forkId: string | null;
}

export function emptyState(sessionId: string | null): SessionState {
  return {
    sessionId,
    greeting: null,
    snapshot: null,
    appliedVersion: 0,
    eventTimes: [],
    journal: new Map(),
    newestVersion: 0,
    draft: null,
    endedDraft: null,
    notices: [],
    lastNoticeKey: 0,
    missing: null,
    forkId: null,
  };
}

/** Whether a service is due, so that the user need not act. */
export function isWorking(snapshot: Snapshot): boolean {
  return snapshot.work !== null;
}

/** Whether the user must decide, answer or take over. */
export function needsUser(snapshot: Snapshot): boolean {
  return snapshot.offer !== null || snapshot.phase.startsWith("awaiting") || snapshot.phase === "escalated" || snapshot.phase === "failed";
}

/** The service that is working now, or null. */
export function activeService(snapshot: Snapshot | null): string | null {
  return (snapshot && !snapshot.paused && snapshot.work?.service) || null;
}

/** The draft that is being written now, or null. */
export function activeDraft({ draft, snapshot }: Pick<SessionState, "draft" | "snapshot">): Draft | null {
  if (!draft || !snapshot) return null;
  const isCurrent = draft.work === snapshot.reply?.version || (activeService(snapshot) !== null && draft.work === snapshot.work?.version);
  return isCurrent ? draft : null;
}

/** Whether a service answers the user's message, beside whatever else goes on. */
export function isReplying(snapshot: Snapshot | null): boolean {
  return !!snapshot?.reply;
}

// The phases of services. A stop in another phase only withdraws the message that is being answered.
const SERVICE_PHASES: ReadonlySet<string> = new Set(["planning", "coding", "executing", "verifying", "answering"]);

/** Whether a stop only withdraws the user's message, because nothing else goes on. */
export function withdrawsMessage(snapshot: Snapshot | null): boolean {
  return !!snapshot?.reply && !SERVICE_PHASES.has(snapshot.phase);
}

/** Whether changes wait for the reply, or for the decision about an offer: only where one could begin. */
export function holdsChanges(snapshot: Snapshot): boolean {
  return (snapshot.reply !== null || snapshot.offer !== null) && (snapshot.approval_request !== null || snapshot.phase === "executing" || snapshot.phase === "waiting");
}

/** Whether the state is older than the log, because messages were lost or have not arrived yet. */
export function isBehind(state: SessionState): boolean {
  if (state.sessionId === null || state.missing !== null) return false;
  return state.snapshot === null || state.appliedVersion < state.snapshot.version || state.newestVersion > state.appliedVersion || !!activeDraft(state)?.hasGap;
}

export const TRANSIENT_CODES: ReadonlySet<string> = new Set(["unavailable", "slow_down"]);

/** Whether a command was refused for a transient reason: it stays pending, and is sent again. */
export function isTransient(message: ServerMessage): boolean {
  return message.type === "error" && TRANSIENT_CODES.has(message.code);
}
