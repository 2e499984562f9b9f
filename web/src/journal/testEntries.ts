// Journal entries for tests, as the gateway sends them.
import type { EntryOf, JournalEntry, PlannedPathView } from "../protocol";
import { type ActionEntry, NOTHING_YET, type TurnEntry } from "./entries";

const BASE = { version: 1, at: "2026-01-01T00:00:00Z", by: "executor" };

export function actionEntry(action_id: string, tool: string, overrides: Partial<EntryOf<"action">> = {}): EntryOf<"action"> {
  const outcome = { state: "planned", word: "waiting", tone: "plain", gist: "", error: "", seconds: 0, decided_by: "", artefact: null } as const;
  return { ...BASE, kind: "action", key: `action:${action_id}`, action_id, turn: 1, tool, place: 0, effect: "read", ruling: "proceed", ...outcome, ...overrides };
}

export function turnEntry(overrides: Partial<EntryOf<"turn">> = {}): EntryOf<"turn"> {
  const content = { sub_goal: "Walk", selected_tool: "", required_skills: [], reasoning: "", final: false, recalled: [], path: null, plan: null, verdict: null };
  return { ...BASE, kind: "turn", key: `turn:${overrides.number ?? 1}`, number: 1, ...content, ...overrides };
}

/** An action as the page displays it. */
export function shownAction(action_id: string, tool: string, overrides: Partial<ActionEntry> = {}): ActionEntry {
  return { ...NOTHING_YET, ...actionEntry(action_id, tool), tokens: 0, ...overrides };
}

export function turnWithPath(path: readonly string[], actions: readonly ActionEntry[], changes: readonly string[] = []): TurnEntry {
  const planned: PlannedPathView = { nodes: [...path], fallback: false, why: "", cached: false, attempts: 1, examples: 0, proposal: null };
  return { ...turnEntry({ path: planned }), actions, changes: changes.map((text) => ({ by: "executor", text })) };
}

export const journalOf = (...entries: JournalEntry[]): ReadonlyMap<string, JournalEntry> => new Map(entries.map((entry) => [entry.key, entry]));
