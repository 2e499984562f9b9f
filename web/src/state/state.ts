// What the page knows of one session. Only `reduce` makes a new one out of a message.
import type { ServerMessage, ServerMessageOf, SessionEvent } from "../protocol";

export type Snapshot = ServerMessageOf<"snapshot">;
export type Greeting = ServerMessageOf<"greeting">;
export type Usage = ServerMessageOf<"usage">;
export type DraftKind = ServerMessageOf<"delta">["kind"];

export interface Draft {
  id: string;
  kind: DraftKind;
  text: string;
  /** A piece before this text has not arrived: the next snapshot brings the whole. */
  torn: boolean;
}

export interface Notice {
  key: number;
  kind: "error" | "info";
  code: string;
  text: string;
  hint: string;
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
  /** The highest version heard of, in order or not. */
  heard: number;
  draft: Draft | null;
  /** The draft that the last event ended: pieces of it that come late are dropped. */
  endedDraft: string | null;
  usage: Usage | null;
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
    heard: 0,
    draft: null,
    endedDraft: null,
    usage: null,
    notices: [],
    noticed: 0,
    missing: null,
    forkId: null,
  };
}

const WORKERS: Record<string, string> = {
  planning: "planner",
  coding: "generator",
  executing: "executor",
  verifying: "verifier",
  answering: "generator",
};

/** A service is due: nothing waits for the person. */
export function working(snapshot: Snapshot): boolean {
  return snapshot.phase in WORKERS;
}

/** The service at work now, or null. */
export function worker(snapshot: Snapshot | null): string | null {
  return (snapshot && !snapshot.paused && WORKERS[snapshot.phase]) || null;
}

/** A service is at work on what the person said of what is still in review. */
export function answering(snapshot: Snapshot | null): boolean {
  return !!worker(snapshot) && !!(snapshot?.review || snapshot?.approval_request);
}

/** The screen is not what the log says: something was lost on the way, or is still coming. */
export function behind(state: SessionState): boolean {
  if (state.sessionId === null || state.missing !== null) return false;
  return state.snapshot === null || state.last !== (state.snapshot.version ?? 0) || state.heard > state.last || !!state.draft?.torn;
}

export const PASSING: ReadonlySet<string> = new Set(["unavailable", "slow_down"]);

/** Refused for a reason that passes: what was sent stays, and is sent again. */
export function passes(message: ServerMessage): boolean {
  return message.type === "error" && PASSING.has(message.code);
}
