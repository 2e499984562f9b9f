import { describe, expect, it } from "vitest";
import type { ServerMessage, ServerMessageOf, SessionEvent } from "../protocol";
import { reduce } from "./reduce";
import { behind, drafted, emptyState, type SessionState } from "./state";

const ID = "s1";

function event(version: number, fields: Partial<SessionEvent> & { type: SessionEvent["type"] }): ServerMessage {
  const base = { id: `${ID}:${version}`, session_id: ID, version, causation_id: null, at: "2026-01-01T00:00:00Z", actor: "planner" };
  return { type: "event", session_id: ID, version, event: { ...base, ...fields } as SessionEvent, entries: [], changed: {}, can: null, ends_draft: false };
}

const told = (version: number, more: Partial<ServerMessageOf<"event">>): ServerMessage => ({ ...(event(version, { type: "session.paused" }) as ServerMessageOf<"event">), ...more });

function snapshot(version: number, view: object = {}, more: Partial<ServerMessageOf<"snapshot">> = {}): ServerMessage {
  const work = { service: "planner", version: 1 };
  return { type: "snapshot", session_id: ID, version, view: { phase: "planning", paused: false, work, actions: {}, ...view }, can: ["stop"], draft: null, ...more } as ServerMessage;
}

function delta(offset: number, text: string, draft_id = "1-d1"): ServerMessage {
  return { type: "delta", session_id: ID, version: null, draft_id, kind: "plan", offset, text, work: 1 };
}

const after = (...messages: ServerMessage[]): SessionState => messages.reduce(reduce, emptyState(ID));
const paused = (version: number) => event(version, { type: "session.paused" });

describe("events", () => {
  it("are kept in order, once", () => {
    const state = after(paused(1), paused(2), paused(1), paused(2));
    expect(state.events.map((one) => one.version)).toEqual([1, 2]);
  });

  it("beyond a hole are not taken, and the hole is known until it is filled", () => {
    const holed = after(snapshot(1), paused(1), paused(3));
    expect(holed.last).toBe(1);
    expect(behind(holed)).toBe(true);
    expect(behind([paused(2), paused(3)].reduce(reduce, holed))).toBe(false);
  });

  it("give the same state in one go and after an interruption", () => {
    const whole = after(paused(1), paused(2), paused(3), snapshot(3));
    const resumed = after(paused(1), snapshot(3), paused(2), paused(3));
    expect(resumed).toEqual(whole);
  });

  it("of another session change nothing", () => {
    const state = after(paused(1));
    expect(reduce(state, { ...paused(2), session_id: "other" } as ServerMessage)).toBe(state);
  });
});

describe("snapshots", () => {
  it("that are older than the one shown are ignored", () => {
    const state = after(snapshot(5, { title: "new" }), snapshot(4, { title: "old" }));
    expect(state.snapshot?.title).toBe("new");
  });

  it("are brought up to date by events: nothing is asked for again", () => {
    const state = after(paused(1), snapshot(1, { title: "old", phase: "planning" }), told(2, { changed: { title: "new" }, can: ["fork"] }));
    expect(state.snapshot).toMatchObject({ version: 2, title: "new", phase: "planning", can: ["fork"] });
    expect(behind(state)).toBe(false);
  });

  it("are not changed by events that came before them", () => {
    expect(after(snapshot(2, { title: "new" }), told(1, { changed: { title: "old" } })).snapshot?.title).toBe("new");
  });

  it("are made by the first event, which brings every section", () => {
    expect(after(told(1, { changed: { title: "first", actions: {} }, can: ["stop"] })).snapshot).toMatchObject({ session_id: ID, version: 1, title: "first", can: ["stop"] });
  });

  it("take actions one by one, and let go of one that is gone", () => {
    const state = after(paused(1), snapshot(1, { actions: { a: { text: "1" }, b: { text: "2" } } }), told(2, { changed: { actions: { a: null, c: { text: "3" } } } }));
    expect(state.snapshot?.actions).toEqual({ b: { text: "2" }, c: { text: "3" } });
  });
});

describe("entries", () => {
  const note = (key: string, text: string) => ({ kind: "note", key, version: 1, at: "", by: "", tone: "plain", text }) as const;

  it("are kept by key, and updates replace their fields", () => {
    const state = after(told(1, { entries: [note("a", "one"), note("b", "two")] }), told(2, { entries: [{ kind: "update", key: "a", set: { text: "three" } }] }));
    expect([...state.journal.values()].map((one) => one.kind === "note" && one.text)).toEqual(["three", "two"]);
  });

  it("that are not there are not updated", () => {
    expect(after(told(1, { entries: [{ kind: "update", key: "a", set: {} }] })).journal.size).toBe(0);
  });
});

describe("drafts", () => {
  it("grow by pieces, and a piece replaces what stood from its offset on", () => {
    expect(after(delta(0, "Hello"), delta(5, " world"), delta(6, "there")).draft?.text).toBe("Hello there");
  });

  it("count characters as the gateway does, also beyond the basic plane", () => {
    expect(after(delta(0, "a😀"), delta(2, "b")).draft?.text).toBe("a😀b");
  });

  it("with a hole are torn until a snapshot brings the whole", () => {
    const torn = after(snapshot(1), paused(1), delta(0, "ab"), delta(9, "z"));
    expect(torn.draft?.torn).toBe(true);
    expect(behind(torn)).toBe(true);
    const draft = { ...delta(0, "abcdefghiz"), type: "delta" as const } as ServerMessageOf<"delta">;
    const mended = reduce(torn, snapshot(1, {}, { draft }));
    expect(mended.draft).toMatchObject({ text: "abcdefghiz", torn: false });
  });

  it("end with the event they became, and late pieces do not bring them back", () => {
    const ends = told(1, { ends_draft: true });
    expect(after(delta(0, "ab"), ends, delta(2, "c")).draft).toBeNull();
    expect(after(delta(0, "ab"), ends, delta(0, "c", "1-d2")).draft?.text).toBe("c");
  });

  it("go on through events that say nothing about them", () => {
    expect(after(delta(0, "ab"), event(1, { type: "usage.recorded" })).draft?.text).toBe("ab");
  });

  it("are shown while their work is the one that goes on", () => {
    const going = after(snapshot(1), paused(1), delta(0, "ab"));
    expect(drafted(going)?.text).toBe("ab");
    expect(drafted(reduce(going, told(2, { changed: { work: { service: "planner", version: 2 } } })))).toBeNull();
    expect(drafted(reduce(going, told(2, { changed: { work: null } })))).toBeNull();
  });

  it("keep what came after the snapshot was made", () => {
    const draft = { ...delta(0, "ab"), type: "delta" as const } as ServerMessageOf<"delta">;
    expect(after(delta(0, "ab"), delta(2, "cd"), snapshot(1, {}, { draft })).draft?.text).toBe("abcd");
  });
});

describe("errors", () => {
  const error = (code: string): ServerMessage => ({ type: "error", session_id: ID, version: null, code, message: "No", hint: "", content: "No", retry_after: null, reply_to: "c1" });

  it("become notices that know their message", () => {
    expect(after(error("not_now")).notices).toMatchObject([{ code: "not_now", replyTo: "c1", kind: "error" }]);
  });

  it("about something done already are none", () => {
    expect(after(error("already_done")).notices).toEqual([]);
  });
  it("says once that what is away is tried again", () => {
    const notices = after(error("unavailable"), error("unavailable")).notices;
    expect(notices).toMatchObject([{ kind: "info", text: "No Retrying…", replyTo: null }]);
    expect(after(error("unavailable"), snapshot(1)).notices).toEqual([]);
  });

  it("about a session that is not there end the asking, until it is", () => {
    const missing = after(error("not_found"));
    expect(missing).toMatchObject({ missing: "No", notices: [] });
    expect(behind(missing)).toBe(false);
    expect(reduce(missing, snapshot(1)).missing).toBeNull();
    expect(after(snapshot(1), error("not_found")).missing).toBeNull();
  });

  it("do not pile up", () => {
    expect(after(...Array.from({ length: 20 }, () => error("x"))).notices).toHaveLength(4);
  });
});

it("ignores messages of a kind that it does not know", () => {
  const state = emptyState(ID);
  expect(reduce(state, { type: "from_the_future", session_id: ID } as unknown as ServerMessage)).toBe(state);
});
