// What the page knows of one session. Only `reduce` makes a new one out of a message.
import type { JournalEntry, ServerMessage, ServerMessageOf, SessionEvent, Snapshot } from "../protocol";

export type { Snapshot };
export type Greeting = ServerMessageOf<"greeting">;
export type DraftKind = ServerMessageOf<"delta">["kind"];

export interface Draft {
  id: string;
  kind: DraftKind;
  text: string;
  /** The version of the work that it belongs to. */
  work: number;
  /** A piece before this text has not arrived: the next snapshot brings the whole. */
  torn: boolean;
}

export interface Notice {
  key: number;
  kind: "error" | "info";
  code: string;
  text: string;
  hint: string;
  /** What is wrong with which step of a plan, by its id; "": with none of them alone. */
  steps?: Readonly<Record<string, readonly string[] | undefined>>;
  /** The id of the message that was refused. */
  replyTo: string | null;
}

export interface SessionState {
  /** The session this state is of; null before a new conversation's first message. */
  sessionId: string | null;
  greeting: Greeting | null;
  snapshot: Snapshot | null;
  /** The journal without holes, versions 1..last. */
  events: readonly SessionEvent[];
  last: number;
  /** The journal in words, by key. */
  journal: ReadonlyMap<string, JournalEntry>;
  /** The highest version heard of, in order or not. */
  heard: number;
  draft: Draft | null;
  /** The draft that the last event ended: pieces of it that come late are dropped. */
  endedDraft: string | null;
  notices: readonly Notice[];
  noticed: number;
  /** Why there is nothing to show: no such session, or not this person's. */
  missing: string | null;
  /** The session that a `fork` began. */
  forkId: string | null;
}

export function emptyState(sessionId: string | null): SessionState {
  return {
    sessionId,
    greeting: null,
    snapshot: null,
    events: [],
    last: 0,
    journal: new Map(),
    heard: 0,
    draft: null,
    endedDraft: null,
    notices: [],
    noticed: 0,
    missing: null,
    forkId: null,
  };
}

/** A service is due: nothing waits for the person. */
export function working(snapshot: Snapshot): boolean {
  return snapshot.work !== null;
}

/** The person is to decide, to answer or to help. */
export function waits(snapshot: Snapshot): boolean {
  return snapshot.phase.startsWith("awaiting") || snapshot.phase === "escalated" || snapshot.phase === "failed";
}

/** The service at work now, or null. */
export function worker(snapshot: Snapshot | null): string | null {
  return (snapshot && !snapshot.paused && snapshot.work?.service) || null;
}

/** What is being written now. */
export function drafted({ draft, snapshot }: Pick<SessionState, "draft" | "snapshot">): Draft | null {
  return draft && worker(snapshot) && draft.work === snapshot?.work?.version ? draft : null;
}

/** A service is at work on what the person said of what is still in review. */
export function answering(snapshot: Snapshot | null): boolean {
  return !!worker(snapshot) && !!(snapshot?.review || snapshot?.approval_request);
}

/** The screen is not what the log says: something was lost on the way, or is still coming. */
export function behind(state: SessionState): boolean {
  if (state.sessionId === null || state.missing !== null) return false;
  return state.snapshot === null || state.last < state.snapshot.version || state.heard > state.last || !!drafted(state)?.torn;
}

export const PASSING: ReadonlySet<string> = new Set(["unavailable", "slow_down"]);

/** Refused for a reason that passes: what was sent stays, and is sent again. */
export function passes(message: ServerMessage): boolean {
  return message.type === "error" && PASSING.has(message.code);
}
