// The one place where messages of the gateway become what is on the screen. Pure and total.
import type { ServerMessage, ServerMessageOf, SessionEvent } from "../protocol";
import { type Draft, type Notice, PASSING, passes, type SessionState, type Snapshot, worker } from "./state";
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
      return mine(state, message) ? withEvent(passed(state), message.event) : state;
    case "delta":
      return mine(state, message) ? withDelta(state, message) : state;
    case "usage":
      return mine(state, message) ? { ...state, usage: message } : state;
    case "forked":
      return mine(state, message) ? { ...state, forkId: message.fork_id } : state;
    case "error":
      if (message.code === "already_done") return state; // sent twice on a bad line: it was done once, all is well
      if (NOT_THERE.has(message.code) && mine(state, message) && !state.snapshot && state.last === 0)
        return { ...state, missing: message.message };
      if (passes(message)) return noticed(state, { kind: "info", code: message.code, text: `${message.message} Trying again.`, hint: "", replyTo: null });
      return noticed(state, {
        kind: "error",
        code: message.code,
        text: message.message || message.content,
        hint: message.hint,
        replyTo: message.reply_to,
      });
    case "log":
      if (state.events.at(-1)?.type === "remark.answered" && state.last === message.version) return state; // the journal has it
      return noticed(state, { kind: "info", code: "log", text: message.content, hint: "", replyTo: null });
    case "text_plan_review":
    case "code_review":
    case "feedback_request":
    case "question":
    case "approval_request":
    case "continue":
    case "answer":
    case "completion":
    case "completed":
    case "stopped":
    case "failed":
      return state; // told for simpler clients; the snapshot says the same
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

function withSnapshot(state: SessionState, snapshot: Snapshot): SessionState {
  const version = snapshot.version ?? 0;
  if (version < (state.snapshot?.version ?? 0)) return state;
  const whole: Draft | null = snapshot.draft && { id: snapshot.draft.draft_id, kind: snapshot.draft.kind, text: snapshot.draft.text, torn: false };
  const going = worker(snapshot) !== null && state.draft?.id !== state.endedDraft ? state.draft : null;
  return {
    ...state,
    snapshot,
    missing: null,
    usage: snapshot.usage,
    heard: Math.max(state.heard, version),
    draft: whole && whole.id !== state.endedDraft ? longer(whole, going) : going,
  };
}

/** The snapshot's text of a draft may be older than the pieces that came meanwhile. */
function longer(whole: Draft, going: Draft | null): Draft {
  return going && going.id === whole.id && !going.torn && going.text.length > whole.text.length ? going : whole;
}

// These end whatever was being written: what they tell replaces it.
const ENDS_DRAFT = /^(plan|code)\.(drafted|edited|rejected|cancelled|approved)$|^(turn\.|actions\.finished$|action\.uncertain$|answer\.|question\.asked|code\.verified|remark\.|session\.(stopped|failed|completed)$)/;

function withEvent(state: SessionState, event: SessionEvent): SessionState {
  const heard = Math.max(state.heard, event.version);
  if (event.version !== state.last + 1) return heard === state.heard ? state : { ...state, heard };
  const ends = ENDS_DRAFT.test(event.type) && state.draft !== null;
  return {
    ...state,
    events: [...state.events, event],
    last: event.version,
    heard,
    draft: ends ? null : state.draft,
    endedDraft: ends ? (state.draft?.id ?? null) : state.endedDraft,
  };
}

function withDelta(state: SessionState, delta: ServerMessageOf<"delta">): SessionState {
  if (delta.draft_id === state.endedDraft) return state;
  const before = state.draft?.id === delta.draft_id ? state.draft.text : "";
  const torn = delta.offset > length(before);
  const text = head(before, delta.offset) + delta.text;
  return { ...state, draft: { id: delta.draft_id, kind: delta.kind, text, torn } };
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
