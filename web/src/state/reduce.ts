// The only place where the gateway's messages change the state on the screen. Pure and total.
import { fill, TROUBLE } from "../generated/words";
import type { EntryOrUpdate, JournalEntry, ServerMessage, ServerMessageOf, Snapshot } from "../protocol";
import { codePointLength, codePointPrefix } from "./codePoints";
import { type Draft, isTransient, type Notice, type SessionState, TRANSIENT_CODES } from "./state";

const MAX_NOTICES = 4;
const MISSING_SESSION_CODES: ReadonlySet<string> = new Set(["not_found", "unknown", "purged", "forbidden"]);

export function reduce(state: SessionState, message: ServerMessage): SessionState {
  switch (message.type) {
    case "greeting":
      return { ...state, greeting: message };
    case "snapshot":
      return isForSession(state, message) ? withSnapshot(withoutRetryNotices(state), message) : state;
    case "event":
      return isForSession(state, message) ? withEvent(withoutRetryNotices(state), message) : state;
    case "delta":
      return isForSession(state, message) ? withDelta(state, message) : state;
    case "forked":
      return isForSession(state, message) ? { ...state, forkId: message.fork_id } : state;
    case "error":
      // The page sent the command twice because the connection was lost. It is recorded once.
      if (message.code === "already_done") return state;
      if (MISSING_SESSION_CODES.has(message.code) && isForSession(state, message) && !state.snapshot && state.appliedVersion === 0)
        return { ...state, missing: message.message };
      if (isTransient(message)) return withNotice(state, { kind: "info", code: message.code, text: fill(TROUBLE.retrying, { why: message.message }), hint: "", replyTo: null });
      return withNotice(state, {
        kind: "error",
        code: message.code,
        text: message.message || message.content,
        hint: message.hint,
        steps: message.steps,
        replyTo: message.reply_to,
      });
    case "log":
      return withNotice(state, { kind: "info", code: "log", text: message.content, hint: "", replyTo: null });
    default:
      return ignoreUnknown(state, message);
  }
}

/** A newer gateway may send message types that this page does not know: ignore them. */
function ignoreUnknown(state: SessionState, _message: never): SessionState {
  return state;
}

function isForSession(state: SessionState, message: { session_id: string }): boolean {
  return state.sessionId === message.session_id;
}

function withSnapshot(state: SessionState, message: ServerMessageOf<"snapshot">): SessionState {
  const version = message.version ?? 0;
  if (version < (state.snapshot?.version ?? 0)) return state;
  const received = message.draft && draftOf(message.draft, message.draft.text, false);
  const current = state.draft?.id !== state.endedDraft ? state.draft : null;
  return {
    ...state,
    snapshot: { ...message.view, session_id: message.session_id, version, can: message.can },
    missing: null,
    newestVersion: Math.max(state.newestVersion, version),
    draft: received && received.id !== state.endedDraft ? longerDraft(received, current) : current,
  };
}

/** The snapshot's draft, or the current one if deltas have made it longer than that. */
function longerDraft(received: Draft, current: Draft | null): Draft {
  return current && current.id === received.id && !current.hasGap && current.text.length > received.text.length ? current : received;
}

function withEvent(state: SessionState, message: ServerMessageOf<"event">): SessionState {
  const { version } = message;
  const newestVersion = Math.max(state.newestVersion, version);
  if (version !== state.appliedVersion + 1) return newestVersion === state.newestVersion ? state : { ...state, newestVersion };
  const snapshot = withChanges(state.snapshot, message);
  const ends = message.ends_draft && state.draft !== null && !isBeside(state.draft, state.snapshot, snapshot);
  return {
    ...state,
    appliedVersion: version,
    eventTimes: [...state.eventTimes, message.at],
    newestVersion,
    journal: withEntries(state.journal, message.entries),
    snapshot,
    draft: ends ? null : state.draft,
    endedDraft: ends ? (state.draft?.id ?? null) : state.endedDraft,
  };
}

/** Whether the draft goes on although an event ended one: a reply and other work are written side by side. */
function isBeside(draft: Draft, before: Snapshot | null, after: Snapshot | null): boolean {
  if (draft.work === after?.reply?.version) return true;
  const endedReply = !!before?.reply && !after?.reply;
  return endedReply && draft.work === after?.work?.version;
}

function withEntries(journal: SessionState["journal"], entries: readonly EntryOrUpdate[]): SessionState["journal"] {
  if (entries.length === 0) return journal;
  const next = new Map(journal);
  for (const entry of entries) {
    const previous = next.get(entry.key);
    if (entry.kind !== "update") next.set(entry.key, entry);
    else if (previous) next.set(entry.key, { ...previous, ...entry.set } as JournalEntry);
  }
  return next;
}

/** Replaces the sections that the event changed. A session's first event has all sections. */
function withChanges(snapshot: Snapshot | null, { session_id, version, changed, can }: ServerMessageOf<"event">): Snapshot | null {
  if (snapshot ? version <= snapshot.version : version > 1 || can === null) return snapshot;
  const actions = Object.entries({ ...snapshot?.actions, ...(changed.actions as object | undefined) }).filter(([, action]) => action !== null);
  return { ...snapshot, ...changed, actions: Object.fromEntries(actions), session_id, version, can: can ?? snapshot?.can ?? [] } as Snapshot;
}

function withDelta(state: SessionState, delta: ServerMessageOf<"delta">): SessionState {
  if (delta.draft_id === state.endedDraft) return state;
  const reply = state.snapshot?.reply;
  // The reply is shown, and not what is written beside it.
  if (reply && state.draft?.work === reply.version && delta.work !== reply.version) return state;
  const previous = state.draft?.id === delta.draft_id ? state.draft.text : "";
  const hasGap = delta.offset > codePointLength(previous);
  const text = codePointPrefix(previous, delta.offset) + delta.text;
  return { ...state, draft: draftOf(delta, text, hasGap) };
}

function draftOf(delta: ServerMessageOf<"delta">, text: string, hasGap: boolean): Draft {
  return { id: delta.draft_id, kind: delta.kind, text, work: delta.work, hasGap, wait: delta.wait ?? 0 };
}

/** Removes "retrying" notices once the service has answered. */
function withoutRetryNotices(state: SessionState): SessionState {
  const remaining = state.notices.filter((notice) => !(notice.kind === "info" && TRANSIENT_CODES.has(notice.code)));
  return remaining.length === state.notices.length ? state : { ...state, notices: remaining };
}

function withNotice(state: SessionState, notice: Omit<Notice, "key">): SessionState {
  const key = state.lastNoticeKey + 1;
  // The same notice is not repeated.
  const others = state.notices.filter((other) => other.kind === "error" || other.text !== notice.text);
  return { ...state, lastNoticeKey: key, notices: [...others, { ...notice, key }].slice(-MAX_NOTICES) };
}

export function withoutNotice(state: SessionState, key: number): SessionState {
  return { ...state, notices: state.notices.filter((notice) => notice.key !== key) };
}
