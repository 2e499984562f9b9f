// The one place where messages of the gateway become what is on the screen. Pure and total.
import { fill, TROUBLE } from "../generated/words";
import type { EntryOrUpdate, JournalEntry, ServerMessage, ServerMessageOf, Snapshot } from "../protocol";
import { type Draft, type Notice, PASSING, passes, type SessionState } from "./state";
import { head, length } from "./text";

const NOTICES_KEPT = 4;
const NOT_THERE: ReadonlySet<string> = new Set(["not_found", "unknown", "purged", "forbidden"]);

export function reduce(state: SessionState, message: ServerMessage): SessionState {
  switch (message.type) {
    case "greeting":
      return { ...state, greeting: message };
    case "snapshot":
      return mine(state, message) ? withSnapshot(passed(state), message) : state;
    case "event":
      return mine(state, message) ? withEvent(passed(state), message) : state;
    case "delta":
      return mine(state, message) ? withDelta(state, message) : state;
    case "forked":
      return mine(state, message) ? { ...state, forkId: message.fork_id } : state;
    case "error":
      if (message.code === "already_done") return state; // sent twice on a bad line: it was done once, all is well
      if (NOT_THERE.has(message.code) && mine(state, message) && !state.snapshot && state.last === 0)
        return { ...state, missing: message.message };
      if (passes(message)) return noticed(state, { kind: "info", code: message.code, text: fill(TROUBLE.retrying, { why: message.message }), hint: "", replyTo: null });
      return noticed(state, {
        kind: "error",
        code: message.code,
        text: message.message || message.content,
        hint: message.hint,
        steps: message.steps,
        replyTo: message.reply_to,
      });
    case "log":
      return noticed(state, { kind: "info", code: "log", text: message.content, hint: "", replyTo: null });
    default:
      return unknown(state, message);
  }
}

/** A newer gateway may send what this page does not know: that is no reason to break. */
function unknown(state: SessionState, _message: never): SessionState {
  return state;
}

function mine(state: SessionState, message: { session_id: string }): boolean {
  return state.sessionId === message.session_id;
}

function withSnapshot(state: SessionState, message: ServerMessageOf<"snapshot">): SessionState {
  const version = message.version ?? 0;
  if (version < (state.snapshot?.version ?? 0)) return state;
  const whole = message.draft && { id: message.draft.draft_id, kind: message.draft.kind, text: message.draft.text, work: message.draft.work, torn: false };
  const going = state.draft?.id !== state.endedDraft ? state.draft : null;
  return {
    ...state,
    snapshot: { ...message.view, session_id: message.session_id, version, can: message.can },
    missing: null,
    heard: Math.max(state.heard, version),
    draft: whole && whole.id !== state.endedDraft ? longer(whole, going) : going,
  };
}

/** The snapshot's text of a draft may be older than the pieces that came meanwhile. */
function longer(whole: Draft, going: Draft | null): Draft {
  return going && going.id === whole.id && !going.torn && going.text.length > whole.text.length ? going : whole;
}

function withEvent(state: SessionState, message: ServerMessageOf<"event">): SessionState {
  const { event } = message;
  const heard = Math.max(state.heard, event.version);
  if (event.version !== state.last + 1) return heard === state.heard ? state : { ...state, heard };
  const ends = message.ends_draft && state.draft !== null;
  return {
    ...state,
    events: [...state.events, event],
    last: event.version,
    heard,
    journal: withEntries(state.journal, message.entries),
    snapshot: withChanges(state.snapshot, message),
    draft: ends ? null : state.draft,
    endedDraft: ends ? (state.draft?.id ?? null) : state.endedDraft,
  };
}

function withEntries(journal: SessionState["journal"], entries: readonly EntryOrUpdate[]): SessionState["journal"] {
  if (entries.length === 0) return journal;
  const next = new Map(journal);
  for (const entry of entries) {
    const before = next.get(entry.key);
    if (entry.kind !== "update") next.set(entry.key, entry);
    else if (before) next.set(entry.key, { ...before, ...entry.set } as JournalEntry);
  }
  return next;
}

/** The sections that are different now take the place of those before; the first event brings them all. */
function withChanges(snapshot: Snapshot | null, { session_id, event, changed, can }: ServerMessageOf<"event">): Snapshot | null {
  if (snapshot ? event.version <= snapshot.version : event.version > 1 || can === null) return snapshot;
  const actions = Object.entries({ ...snapshot?.actions, ...(changed.actions as object | undefined) }).filter(([, one]) => one !== null);
  return { ...snapshot, ...changed, actions: Object.fromEntries(actions), session_id, version: event.version, can: can ?? snapshot?.can ?? [] } as Snapshot;
}

function withDelta(state: SessionState, delta: ServerMessageOf<"delta">): SessionState {
  if (delta.draft_id === state.endedDraft) return state;
  const before = state.draft?.id === delta.draft_id ? state.draft.text : "";
  const torn = delta.offset > length(before);
  const text = head(before, delta.offset) + delta.text;
  return { ...state, draft: { id: delta.draft_id, kind: delta.kind, text, work: delta.work, torn } };
}

/** What was away has answered: nobody needs to be told any more that it is tried again. */
function passed(state: SessionState): SessionState {
  const left = state.notices.filter((notice) => !(notice.kind === "info" && PASSING.has(notice.code)));
  return left.length === state.notices.length ? state : { ...state, notices: left };
}

function noticed(state: SessionState, notice: Omit<Notice, "key">): SessionState {
  const key = state.noticed + 1;
  const others = state.notices.filter((one) => one.kind === "error" || one.text !== notice.text); // said again: once is enough
  return { ...state, noticed: key, notices: [...others, { ...notice, key }].slice(-NOTICES_KEPT) };
}

export function dismissed(state: SessionState, key: number): SessionState {
  return { ...state, notices: state.notices.filter((notice) => notice.key !== key) };
}
