// The journal for display: the gateway's entries, with actions grouped by turn. Pure; the gateway decides what happened and how it is worded.
import { type QueryResult, queryResultOf } from "../flow/queryResult";
import type { EntryOf, JournalEntry } from "../protocol";

/** The values of fields that an action's entry leaves out while they are empty. */
export const NOTHING_YET = { description: "", sub_goal: "", arguments: {} as Record<string, unknown>, depends_on: [] as readonly string[], approval: null as string | null, repairs: [] as readonly string[], why: "", result: null as unknown };

type ShownAction = Omit<EntryOf<"action">, keyof typeof NOTHING_YET> & typeof NOTHING_YET;

export interface ActionEntry extends ShownAction {
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

/** All entries to display, oldest first. */
export function buildEntries(journal: ReadonlyMap<string, JournalEntry>): Entry[] {
  const tokens = new Map<string, number>();
  const actions = new Map<number, ActionEntry[]>();
  const changes = new Map<number, EntryOf<"path_change">[]>();
  for (const entry of journal.values()) {
    if (entry.kind === "tokens") tokens.set(entry.action_id, (tokens.get(entry.action_id) ?? 0) + entry.tokens);
    if (entry.kind === "path_change") changes.set(entry.turn, [...(changes.get(entry.turn) ?? []), entry]);
    if (entry.kind === "action" && entry.state !== "dropped") actions.set(entry.turn, [...(actions.get(entry.turn) ?? []), { ...NOTHING_YET, ...entry, tokens: 0 }]);
  }
  const entries: Entry[] = [];
  for (const entry of journal.values()) {
    if (entry.kind === "turn") entries.push(buildTurn(entry, journal, { actions, changes, tokens }));
    else if (entry.kind === "answer") entries.push({ ...entry, queryResult: latestQueryResult(entries) });
    else if (isStandalone(entry)) entries.push(entry);
  }
  return entries;
}

/** A decision without words is shown by its action. */
function isStandalone(entry: JournalEntry): entry is StandaloneEntry {
  return !["turn", "action", "path_change", "tokens", "answer"].includes(entry.kind) && (entry.kind !== "decision" || !!entry.text);
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

function latestQueryResult(entries: readonly Entry[]): QueryResult | null {
  const turn = entries.findLast((entry) => entry.kind === "turn");
  return turn?.kind === "turn" && turn.path ? queryResultOf(turn.actions) : null;
}
