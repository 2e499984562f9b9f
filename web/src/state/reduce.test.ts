import { describe, expect, it } from "vitest";
import type { ServerMessage, ServerMessageOf, SessionEvent } from "../protocol";
import { reduce } from "./reduce";
import { behind, emptyState, type SessionState } from "./state";

const ID = "s1";

function event(version: number, fields: Partial<SessionEvent> & { type: SessionEvent["type"] }): ServerMessage {
  const base = { id: `${ID}:${version}`, session_id: ID, version, causation_id: null, at: "2026-01-01T00:00:00Z", actor: "planner" };
  return { type: "event", session_id: ID, version, event: { ...base, ...fields } as SessionEvent };
}

function snapshot(version: number, fields: Partial<ServerMessageOf<"snapshot">> = {}): ServerMessage {
  const usage = { type: "usage", session_id: ID, version, calls: 0, prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0, cost: 0 };
  return { type: "snapshot", session_id: ID, version, phase: "planning", paused: false, can: ["stop"], draft: null, usage, ...fields } as ServerMessage;
}

function delta(offset: number, text: string, draft_id = "d1"): ServerMessage {
  return { type: "delta", session_id: ID, version: null, draft_id, kind: "plan", offset, text };
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
    expect(behind([paused(2), paused(3), snapshot(3)].reduce(reduce, holed))).toBe(false);
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

  it("older than the events mean that a newer one is wanted", () => {
    expect(behind(after(paused(1), snapshot(1)))).toBe(false);
    expect(behind(after(paused(1), snapshot(1), paused(2)))).toBe(true);
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
    const mended = reduce(torn, snapshot(1, { draft }));
    expect(mended.draft).toMatchObject({ text: "abcdefghiz", torn: false });
  });

  it("end with the event they became, and late pieces do not bring them back", () => {
    const drafted = event(1, { type: "plan.drafted", kind: "text", goal: "g", steps: [], notes: "" });
    expect(after(delta(0, "ab"), drafted, delta(2, "c")).draft).toBeNull();
    expect(after(delta(0, "ab"), drafted, delta(0, "c", "d2")).draft?.text).toBe("c");
    expect(after(delta(0, "ab"), event(1, { type: "actions.finished", outcomes: [] })).draft).toBeNull();
  });

  it("go on through events that say nothing about them", () => {
    expect(after(delta(0, "ab"), event(1, { type: "usage.recorded" })).draft?.text).toBe("ab");
  });

  it("keep what came after the snapshot was made", () => {
    const draft = { ...delta(0, "ab"), type: "delta" as const } as ServerMessageOf<"delta">;
    expect(after(delta(0, "ab"), delta(2, "cd"), snapshot(1, { draft })).draft?.text).toBe("abcd");
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
    expect(notices).toMatchObject([{ kind: "info", text: "No Trying again.", replyTo: null }]);
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
