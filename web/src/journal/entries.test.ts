import { expect, it } from "vitest";
import type { JournalEntry, SessionEvent } from "../protocol";
import { buildEntries } from "./entries";
import { actionEntry, journalOf, turnEntry } from "./testEntries";

const base = { version: 2, at: "2026-01-01T00:00:00Z", by: "user:ada" };
const events = [
  { version: 1, type: "turn.planned", actions: [{ id: "1.1", tool: "look", arguments: { n: 1 } }, { id: "1.2", tool: "write", arguments: {} }] },
  { version: 2, type: "actions.finished", outcomes: [{ action_id: "1.1", result: { stdout: "3" } }] },
] as unknown as SessionEvent[];

it("groups actions by turn, in order, with arguments and results from their events", () => {
  const result = buildEntries(journalOf(turnEntry(), actionEntry("1.2", "write", { place: 2 }), actionEntry("1.1", "look", { place: 1, result_in: 2 })), events);
  expect(result).toMatchObject([
    { kind: "turn", actions: [{ action_id: "1.1", spec: { arguments: { n: 1 } }, result: { stdout: "3" } }, { action_id: "1.2", result: null }] },
  ]);
});

it("omits dropped actions, and sums the tokens of the others", () => {
  const tokens = (key: string, action_id: string, tokens: number): JournalEntry => ({ ...base, kind: "tokens", key, action_id, tokens });
  const result = buildEntries(journalOf(turnEntry(), actionEntry("1.1", "look"), actionEntry("1.2", "write", { state: "dropped" }), tokens("t1", "1.1", 90), tokens("t2", "1.1", 30)), events);
  expect(result).toMatchObject([{ actions: [{ action_id: "1.1", tokens: 120 }] }]);
});

it("takes a plan run's goal, path and author from its plan", () => {
  const path = { nodes: ["sql.look"], fallback: false, why: "", cached: false, attempts: 1, examples: 0, proposal: null };
  const plan: JournalEntry = { ...base, kind: "plan", key: "plan:2", number: 1, title: "Path 1", summary: "1 step", goal: "Walk there", path };
  const [, turn] = buildEntries(journalOf(plan, turnEntry({ sub_goal: "", plan: "plan:2", by: "user:bob" })), events);
  expect(turn).toMatchObject({ kind: "turn", sub_goal: "Walk there", by: "user:ada", path });
});

it("passes other entries through unchanged", () => {
  const note: JournalEntry = { ...base, kind: "note", key: "note:2", tone: "good", text: "approved plan 1" };
  expect(buildEntries(journalOf(note), events)).toEqual([note]);
});

it("shows values that a user set during a run as an action", () => {
  const changeEvents = [{ version: 1, type: "turn.changed", actions: [], overrides: { sql: "SELECT 2" } }] as unknown as SessionEvent[];
  const result = buildEntries(journalOf(turnEntry(), actionEntry("1.5", "sql.person", { state: "finished", result_in: 1, gist: "Set by you: sql" })), changeEvents);
  expect(result).toMatchObject([{ actions: [{ spec: { tool: "sql.person", description: "Set by you: sql" }, result: { sql: "SELECT 2" } }] }]);
});
