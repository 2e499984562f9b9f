// The journal as it is drawn: the gateway's entries, a turn with its actions, and each action with what is in its
// events. Pure; what happened and in what words is the gateway's to say.
import { type Found, foundBy } from "../flow/found";
import type { ActionSpec, EntryOf, JournalEntry, SessionEvent } from "../protocol";

export interface ActionEntry extends EntryOf<"action"> {
  spec: ActionSpec;
  result: unknown;
  /** Of the model calls that were made for it. */
  tokens: number;
}

export interface TurnEntry extends EntryOf<"turn"> {
  actions: readonly ActionEntry[];
  /** Why the path became another one, oldest first. */
  changes: readonly { by: string; text: string }[];
}

export interface AnswerEntry extends EntryOf<"answer"> {
  /** What the path before it came to, if there was one. */
  found: Found | null;
}

type Alone = Exclude<JournalEntry, { kind: "turn" | "action" | "path_change" | "tokens" | "answer" }>;
export type Entry = Alone | TurnEntry | AnswerEntry;

export const SPEC: Omit<ActionSpec, "id" | "tool" | "description"> = { arguments: {}, effect: "read", depends_on: [], approval_reason: null, policy: null, repairs: [], decision: "proceed", decision_reason: "", quiet: false };

/** Everything worth reading, oldest first. */
export function entries(journal: ReadonlyMap<string, JournalEntry>, events: readonly SessionEvent[]): Entry[] {
  const tokens = new Map<string, number>();
  const actions = new Map<number, ActionEntry[]>();
  const changes = new Map<number, EntryOf<"path_change">[]>();
  for (const one of journal.values()) {
    if (one.kind === "tokens") tokens.set(one.action_id, (tokens.get(one.action_id) ?? 0) + one.tokens);
    if (one.kind === "path_change") changes.set(one.turn, [...(changes.get(one.turn) ?? []), one]);
    if (one.kind === "action" && one.state !== "dropped") actions.set(one.turn, [...(actions.get(one.turn) ?? []), withBodies(one, events)]);
  }
  const all: Entry[] = [];
  for (const one of journal.values()) {
    if (one.kind === "turn") all.push(turnOf(one, journal, { actions, changes, tokens }));
    else if (one.kind === "answer") all.push({ ...one, found: foundOf(all) });
    else if (one.kind !== "action" && one.kind !== "path_change" && one.kind !== "tokens") all.push(one);
  }
  return all;
}

interface OfTurns {
  actions: ReadonlyMap<number, ActionEntry[]>;
  changes: ReadonlyMap<number, EntryOf<"path_change">[]>;
  tokens: ReadonlyMap<string, number>;
}

function turnOf(turn: EntryOf<"turn">, journal: ReadonlyMap<string, JournalEntry>, { actions, changes, tokens }: OfTurns): TurnEntry {
  const mine = (actions.get(turn.number) ?? []).toSorted((a, b) => a.place - b.place).map((one) => ({ ...one, tokens: tokens.get(one.action_id) ?? 0 }));
  const plan = turn.plan === null ? undefined : journal.get(turn.plan);
  const made = plan?.kind === "plan" ? { by: plan.by, sub_goal: plan.goal, path: plan.path } : {};
  return { ...turn, ...made, actions: mine, changes: changes.get(turn.number) ?? [] };
}

function withBodies(action: EntryOf<"action">, events: readonly SessionEvent[]): ActionEntry {
  const planned = events[action.spec_in - 1];
  const specs = planned && "actions" in planned ? planned.actions.filter((one): one is ActionSpec => typeof one === "object" && "tool" in one) : [];
  const spec = specs.find((one) => one.id === action.action_id) ?? { ...SPEC, id: action.action_id, tool: action.tool, description: action.gist };
  return { ...action, spec, result: resultOf(action, events), tokens: 0 };
}

function resultOf({ action_id, result_in }: EntryOf<"action">, events: readonly SessionEvent[]): unknown {
  const event = result_in === null ? undefined : events[result_in - 1];
  switch (event?.type) {
    case "actions.finished":
      return event.outcomes.find((one) => one.action_id === action_id)?.result ?? null;
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


function foundOf(all: readonly Entry[]): Found | null {
  const turn = all.findLast((one) => one.kind === "turn");
  return turn?.kind === "turn" && turn.path ? foundBy(turn.actions) : null;
}
