// The journal for display: the gateway's entries, with actions grouped by turn and completed from their events. Pure;
// the gateway decides what happened and how it is worded.
import { type QueryResult, queryResultOf } from "../flow/queryResult";
import type { ActionSpec, EntryOf, JournalEntry, SessionEvent } from "../protocol";

export interface ActionEntry extends EntryOf<"action"> {
  spec: ActionSpec;
  result: unknown;
  /** Tokens of the model calls made for this action. */
  tokens: number;
}

export interface TurnEntry extends EntryOf<"turn"> {
  actions: readonly ActionEntry[];
  /** Why the path changed, oldest first. */
  changes: readonly { by: string; text: string }[];
}

export interface AnswerEntry extends EntryOf<"answer"> {
  /** The query result of the preceding path, if there was one. */
  queryResult: QueryResult | null;
}

type StandaloneEntry = Exclude<JournalEntry, { kind: "turn" | "action" | "path_change" | "tokens" | "answer" }>;
export type Entry = StandaloneEntry | TurnEntry | AnswerEntry;

export const SPEC_DEFAULTS: Omit<ActionSpec, "id" | "tool" | "description"> = { arguments: {}, effect: "read", depends_on: [], approval_reason: null, policy: null, repairs: [], decision: "proceed", decision_reason: "", quiet: false };

/** All entries to display, oldest first. */
export function buildEntries(journal: ReadonlyMap<string, JournalEntry>, events: readonly SessionEvent[]): Entry[] {
  const tokens = new Map<string, number>();
  const actions = new Map<number, ActionEntry[]>();
  const changes = new Map<number, EntryOf<"path_change">[]>();
  for (const entry of journal.values()) {
    if (entry.kind === "tokens") tokens.set(entry.action_id, (tokens.get(entry.action_id) ?? 0) + entry.tokens);
    if (entry.kind === "path_change") changes.set(entry.turn, [...(changes.get(entry.turn) ?? []), entry]);
    if (entry.kind === "action" && entry.state !== "dropped") actions.set(entry.turn, [...(actions.get(entry.turn) ?? []), withEventData(entry, events)]);
  }
  const entries: Entry[] = [];
  for (const entry of journal.values()) {
    if (entry.kind === "turn") entries.push(buildTurn(entry, journal, { actions, changes, tokens }));
    else if (entry.kind === "answer") entries.push({ ...entry, queryResult: latestQueryResult(entries) });
    else if (entry.kind !== "action" && entry.kind !== "path_change" && entry.kind !== "tokens") entries.push(entry);
  }
  return entries;
}

interface TurnParts {
  actions: ReadonlyMap<number, ActionEntry[]>;
  changes: ReadonlyMap<number, EntryOf<"path_change">[]>;
  tokens: ReadonlyMap<string, number>;
}

function buildTurn(turn: EntryOf<"turn">, journal: ReadonlyMap<string, JournalEntry>, { actions, changes, tokens }: TurnParts): TurnEntry {
  const turnActions = (actions.get(turn.number) ?? []).toSorted((a, b) => a.place - b.place).map((action) => ({ ...action, tokens: tokens.get(action.action_id) ?? 0 }));
  const plan = turn.plan === null ? undefined : journal.get(turn.plan);
  const fromPlan = plan?.kind === "plan" ? { by: plan.by, sub_goal: plan.goal, path: plan.path } : {};
  return { ...turn, ...fromPlan, actions: turnActions, changes: changes.get(turn.number) ?? [] };
}

function withEventData(action: EntryOf<"action">, events: readonly SessionEvent[]): ActionEntry {
  const planned = events[action.spec_in - 1];
  const specs = planned && "actions" in planned ? planned.actions.filter((item): item is ActionSpec => typeof item === "object" && "tool" in item) : [];
  const spec = specs.find((spec) => spec.id === action.action_id) ?? { ...SPEC_DEFAULTS, id: action.action_id, tool: action.tool, description: action.gist };
  return { ...action, spec, result: resultOf(action, events), tokens: 0 };
}

function resultOf({ action_id, result_in }: EntryOf<"action">, events: readonly SessionEvent[]): unknown {
  const event = result_in === null ? undefined : events[result_in - 1];
  switch (event?.type) {
    case "actions.finished":
      return event.outcomes.find((outcome) => outcome.action_id === action_id)?.result ?? null;
    case "question.answered":
      return event.text;
    case "turn.changed":
      return event.overrides;
    case "action.skipped":
      return event.output ?? null;
    default:
      return null;
  }
}


function latestQueryResult(entries: readonly Entry[]): QueryResult | null {
  const turn = entries.findLast((entry) => entry.kind === "turn");
  return turn?.kind === "turn" && turn.path ? queryResultOf(turn.actions) : null;
}
