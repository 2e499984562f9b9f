import { expect, it } from "vitest";
import type { JournalEntry } from "../protocol";
import { buildEntries } from "./entries";
import { actionEntry, journalOf, turnEntry } from "./testEntries";

const base = { version: 2, at: "2026-01-01T00:00:00Z", by: "user:ada" };
it("groups actions by turn, in order, and fills in what their entries leave out", () => {
  const result = buildEntries(journalOf(turnEntry(), actionEntry("1.2", "write", { place: 2 }), actionEntry("1.1", "look", { place: 1, arguments: { n: 1 } })));
  expect(result).toMatchObject([
    { kind: "turn", actions: [{ action_id: "1.1", arguments: { n: 1 }, result: null }, { action_id: "1.2", arguments: {} }] },
  ]);
});

it("omits dropped actions, and sums the tokens of the others", () => {
  const tokens = (key: string, action_id: string, tokens: number): JournalEntry => ({ ...base, kind: "tokens", key, action_id, tokens });
  const result = buildEntries(journalOf(turnEntry(), actionEntry("1.1", "look"), actionEntry("1.2", "write", { state: "dropped" }), tokens("t1", "1.1", 90), tokens("t2", "1.1", 30)));
  expect(result).toMatchObject([{ actions: [{ action_id: "1.1", tokens: 120 }] }]);
});

it("takes a plan run's goal, path and author from its plan", () => {
  const path = { nodes: ["sql.look"], fallback: false, why: "", cached: false, attempts: 1, examples: 0, proposal: null };
  const plan: JournalEntry = { ...base, kind: "plan", key: "plan:2", number: 1, title: "Path 1", summary: "1 step", goal: "Walk there", steps: [], path };
  const [, turn] = buildEntries(journalOf(plan, turnEntry({ sub_goal: "", plan: "plan:2", by: "user:bob" })));
  expect(turn).toMatchObject({ kind: "turn", sub_goal: "Walk there", by: "user:ada", path });
});

it("passes other entries through unchanged, except decisions that their actions show", () => {
  const note: JournalEntry = { ...base, kind: "note", key: "note:2", tone: "good", text: "approved plan 1" };
  const decision: JournalEntry = { ...base, kind: "decision", key: "decision:2.1.1", decision: "approved", about: "action", action_id: "1.1", tone: "plain" };
  expect(buildEntries(journalOf(note, decision))).toEqual([note]);
});
