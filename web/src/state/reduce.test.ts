import { describe, expect, it } from "vitest";
import type { ServerMessage, ServerMessageOf } from "../protocol";
import { reduce } from "./reduce";
import { activeDraft, emptyState, isBehind, type SessionState } from "./state";

const ID = "s1";

const eventWith = (version: number, fields: Partial<ServerMessageOf<"event">> = {}): ServerMessage => ({ type: "event", session_id: ID, version, event_id: `${ID}:${version}`, at: `time ${version}`, entries: [], changed: {}, can: null, ends_draft: false, ...fields });

function snapshot(version: number, view: object = {}, fields: Partial<ServerMessageOf<"snapshot">> = {}): ServerMessage {
  const work = { service: "planner", version: 1 };
  return { type: "snapshot", session_id: ID, version, view: { phase: "planning", paused: false, work, actions: {}, ...view }, can: ["stop"], draft: null, ...fields } as ServerMessage;
}

function delta(offset: number, text: string, draft_id = "1-d1"): ServerMessage {
  return { type: "delta", session_id: ID, version: null, draft_id, kind: "plan", offset, text, work: 1 };
}

const stateAfter = (...messages: ServerMessage[]): SessionState => messages.reduce(reduce, emptyState(ID));
const event = (version: number) => eventWith(version);

describe("events", () => {
  it("are kept in order, without duplicates", () => {
    const state = stateAfter(event(1), event(2), event(1), event(2));
    expect([state.appliedVersion, state.eventTimes]).toEqual([2, ["time 1", "time 2"]]);
  });

  it("after a gap are not applied, and the gap is remembered until it is filled", () => {
    const withGap = stateAfter(snapshot(1), event(1), event(3));
    expect(withGap.appliedVersion).toBe(1);
    expect(isBehind(withGap)).toBe(true);
    expect(isBehind([event(2), event(3)].reduce(reduce, withGap))).toBe(false);
  });

  it("give the same state whether or not the connection was interrupted", () => {
    const complete = stateAfter(event(1), event(2), event(3), snapshot(3));
    const resumed = stateAfter(event(1), snapshot(3), event(2), event(3));
    expect(resumed).toEqual(complete);
  });

  it("of another session are ignored", () => {
    const state = stateAfter(event(1));
    expect(reduce(state, { ...event(2), session_id: "other" } as ServerMessage)).toBe(state);
  });
});

describe("snapshots", () => {
  it("that are older than the current one are ignored", () => {
    const state = stateAfter(snapshot(5, { title: "new" }), snapshot(4, { title: "old" }));
    expect(state.snapshot?.title).toBe("new");
  });

  it("are updated by events, without another request", () => {
    const state = stateAfter(event(1), snapshot(1, { title: "old", phase: "planning" }), eventWith(2, { changed: { title: "new" }, can: ["fork"] }));
    expect(state.snapshot).toMatchObject({ version: 2, title: "new", phase: "planning", can: ["fork"] });
    expect(isBehind(state)).toBe(false);
  });

  it("are not changed by older events", () => {
    expect(stateAfter(snapshot(2, { title: "new" }), eventWith(1, { changed: { title: "old" } })).snapshot?.title).toBe("new");
  });

  it("are created by the first event, which has all sections", () => {
    expect(stateAfter(eventWith(1, { changed: { title: "first", actions: {} }, can: ["stop"] })).snapshot).toMatchObject({ session_id: ID, version: 1, title: "first", can: ["stop"] });
  });

  it("update actions one by one, and drop removed ones", () => {
    const state = stateAfter(event(1), snapshot(1, { actions: { a: { text: "1" }, b: { text: "2" } } }), eventWith(2, { changed: { actions: { a: null, c: { text: "3" } } } }));
    expect(state.snapshot?.actions).toEqual({ b: { text: "2" }, c: { text: "3" } });
  });
});

describe("entries", () => {
  const note = (key: string, text: string) => ({ kind: "note", key, version: 1, at: "", by: "", tone: "plain", text }) as const;

  it("are kept by key, and updates replace their fields", () => {
    const state = stateAfter(eventWith(1, { entries: [note("a", "one"), note("b", "two")] }), eventWith(2, { entries: [{ kind: "update", key: "a", set: { text: "three" } }] }));
    expect([...state.journal.values()].map((entry) => entry.kind === "note" && entry.text)).toEqual(["three", "two"]);
  });

  it("are not created by an update", () => {
    expect(stateAfter(eventWith(1, { entries: [{ kind: "update", key: "a", set: {} }] })).journal.size).toBe(0);
  });
});

describe("drafts", () => {
  it("grow by deltas, and a delta replaces the text from its offset on", () => {
    expect(stateAfter(delta(0, "Hello"), delta(5, " world"), delta(6, "there")).draft?.text).toBe("Hello there");
  });

  it("count offsets in code points as the gateway does, not in UTF-16 units", () => {
    expect(stateAfter(delta(0, "a😀"), delta(2, "b")).draft?.text).toBe("a😀b");
  });

  it("with a gap are incomplete until a snapshot brings the full text", () => {
    const incomplete = stateAfter(snapshot(1), event(1), delta(0, "ab"), delta(9, "z"));
    expect(incomplete.draft?.hasGap).toBe(true);
    expect(isBehind(incomplete)).toBe(true);
    const draft = { ...delta(0, "abcdefghiz"), type: "delta" as const } as ServerMessageOf<"delta">;
    const complete = reduce(incomplete, snapshot(1, {}, { draft }));
    expect(complete.draft).toMatchObject({ text: "abcdefghiz", hasGap: false });
  });

  it("wait while the model's server asks for it, also for a page that joins meanwhile, until the next delta", () => {
    const wait = { ...delta(2, ""), wait: 20 } as ServerMessageOf<"delta">;
    const waiting = stateAfter(snapshot(1), delta(0, "ab"), wait);
    expect(waiting.draft).toMatchObject({ text: "ab", wait: 20 });
    expect(reduce(waiting, delta(2, "")).draft).toMatchObject({ text: "ab", wait: 0 });
    expect(stateAfter(snapshot(1, {}, { draft: { ...wait, offset: 0, text: "ab" } })).draft).toMatchObject({ text: "ab", wait: 20 });
  });

  it("end with the event that completes them, and ignore late deltas", () => {
    const ends = eventWith(1, { ends_draft: true });
    expect(stateAfter(delta(0, "ab"), ends, delta(2, "c")).draft).toBeNull();
    expect(stateAfter(delta(0, "ab"), ends, delta(0, "c", "1-d2")).draft?.text).toBe("c");
  });

  it("continue through unrelated events", () => {
    expect(stateAfter(delta(0, "ab"), event(1)).draft?.text).toBe("ab");
  });

  it("are shown only while the work that they belong to continues", () => {
    const ongoing = stateAfter(snapshot(1), event(1), delta(0, "ab"));
    expect(activeDraft(ongoing)?.text).toBe("ab");
    expect(activeDraft(reduce(ongoing, eventWith(2, { changed: { work: { service: "planner", version: 2 } } })))).toBeNull();
    expect(activeDraft(reduce(ongoing, eventWith(2, { changed: { work: null } })))).toBeNull();
  });

  it("keep deltas that are newer than the snapshot", () => {
    const draft = { ...delta(0, "ab"), type: "delta" as const } as ServerMessageOf<"delta">;
    expect(stateAfter(delta(0, "ab"), delta(2, "cd"), snapshot(1, {}, { draft })).draft?.text).toBe("abcd");
  });

  describe("of a reply beside other work", () => {
    const reply = { service: "planner", version: 9 };
    const ofReply = (text: string): ServerMessage => ({ ...delta(0, text, "9-d1"), work: 9 }) as ServerMessage;
    const beside = [event(1), snapshot(1, { phase: "executing", work: { service: "executor", version: 1 }, reply })];

    it("is shown, and not what is written beside it", () => {
      const state = stateAfter(...beside, delta(0, "a node"), ofReply("Because"), delta(6, " goes on"));
      expect(activeDraft(state)?.text).toBe("Because");
    });

    it("goes on when an event ends a draft of the work", () => {
      const state = stateAfter(...beside, ofReply("Because"), eventWith(2, { ends_draft: true }));
      expect(activeDraft(state)?.text).toBe("Because");
    });

    it("ends with the reply, which leaves the work's draft", () => {
      const replied = eventWith(2, { ends_draft: true, changed: { reply: null } });
      expect(stateAfter(...beside, ofReply("Because"), replied).draft).toBeNull();
      expect(activeDraft(stateAfter(...beside, delta(0, "a node"), replied))?.text).toBe("a node");
    });
  });
});

describe("errors", () => {
  const error = (code: string): ServerMessage => ({ type: "error", session_id: ID, version: null, code, message: "No", hint: "", content: "No", retry_after: null, reply_to: "c1" });

  it("become notices that name the refused message", () => {
    expect(stateAfter(error("not_now")).notices).toMatchObject([{ code: "not_now", replyTo: "c1", kind: "error" }]);
  });

  it("about commands that are already recorded are ignored", () => {
    expect(stateAfter(error("already_done")).notices).toEqual([]);
  });

  it("about an unavailable service show one retry notice", () => {
    const notices = stateAfter(error("unavailable"), error("unavailable")).notices;
    expect(notices).toMatchObject([{ kind: "info", text: "No Retrying…", replyTo: null }]);
    expect(stateAfter(error("unavailable"), snapshot(1)).notices).toEqual([]);
  });

  it("about a missing session stop requests for missing events until it exists", () => {
    const missing = stateAfter(error("not_found"));
    expect(missing).toMatchObject({ missing: "No", notices: [] });
    expect(isBehind(missing)).toBe(false);
    expect(reduce(missing, snapshot(1)).missing).toBeNull();
    expect(stateAfter(snapshot(1), error("not_found")).missing).toBeNull();
  });

  it("show at most four notices at once", () => {
    expect(stateAfter(...Array.from({ length: 20 }, () => error("x"))).notices).toHaveLength(4);
  });
});

it("ignores unknown message types", () => {
  const state = emptyState(ID);
  expect(reduce(state, { type: "unknown_type", session_id: ID } as unknown as ServerMessage)).toBe(state);
});
