// What became of a turn's actions, as the events say it. Pure.
import { PERSON, split, toolOf } from "../flow/spec";
import type { ActionSpec, Artefact, Ended, EventOf, PathPlan, PlannedPathView, SessionEvent, StepOutput } from "../protocol";

export type ActionState = "planned" | "approved" | "denied" | "started" | "asked" | "finished" | "failed" | "skipped" | "uncertain";

export interface ActionEntry {
  spec: ActionSpec;
  state: ActionState;
  result: unknown;
  error: string;
  seconds: number;
  /** Of the model calls that were made for it. */
  tokens: number;
  artefact: Artefact | null;
  /** Who allowed or refused it, "" if nobody was asked. */
  decidedBy: string;
  /** In doubt, and the person left it at that. */
  left: boolean;
}

const UNBEGUN: ReadonlySet<ActionState> = new Set(["planned", "approved", "asked"]);

/** The actions of a new turn; what the domain ruled out is decided from the beginning. */
export function planned(actions: readonly ActionSpec[]): ActionEntry[] {
  return actions.map((spec) => {
    const state = spec.decision === "skip" ? "skipped" : spec.decision === "deny" ? "denied" : "planned";
    return { spec, state, result: null, error: spec.decision_reason, seconds: 0, tokens: 0, artefact: null, decidedBy: "", left: false };
  });
}

export const SPEC: Omit<ActionSpec, "id" | "tool" | "description"> = { arguments: {}, effect: "read", depends_on: [], approval_reason: null, policy: null, repairs: [], decision: "proceed", decision_reason: "", quiet: false };

/** A turn with another rest: what is known stays in its place, and what a person set on the way is an action of theirs. */
export function changed(actions: readonly ActionEntry[], made: number, event: EventOf<"turn.changed">): { actions: ActionEntry[]; made: number } {
  const rest = new Map(event.actions.map((spec) => [spec.id, spec]));
  const stays = actions.filter((one) => !UNBEGUN.has(one.state) || rest.has(one.spec.id)).map((one) => ruledAgain(one, rest.get(one.spec.id)));
  const known = new Set(stays.map((one) => one.spec.id));
  const [first] = event.actions.length > 0 ? event.actions : actions.map((one) => one.spec);
  const overrides = Object.keys(event.overrides);
  const id = `${event.turn}.${made + 1}`;
  const said = { ...SPEC, id, tool: toolOf(split(first?.tool ?? "")[0], PERSON), description: `Set by the person: ${overrides.join(", ")}` };
  const own: ActionEntry[] = overrides.length > 0 ? planned([said]).map((one) => ({ ...one, state: "finished", result: event.overrides, decidedBy: event.actor })) : [];
  const added = [...own, ...planned(event.actions.filter((spec) => !known.has(spec.id)))];
  return { actions: [...stays, ...added], made: made + added.length };
}

/** The same action if nothing differs, or if it has begun. */
function ruledAgain(one: ActionEntry, spec: ActionSpec | undefined): ActionEntry {
  if (!spec || !UNBEGUN.has(one.state) || JSON.stringify(spec) === JSON.stringify(one.spec)) return one;
  return { ...one, ...planned([spec])[0] };
}

/** A path as the log has it, under the names that the gateway's views have. */
export function pathOf(path: PathPlan | null): PlannedPathView | null {
  if (!path) return null;
  const { fallback_reason: why, proposal, ...rest } = path;
  return { ...rest, why, proposal: proposal && { flow: proposal.flow, name: proposal.name, description: proposal.description, why: proposal.reason } };
}

/** A path as a person has edited it is theirs, whatever it was planned as. */
export function editedPath(path: PlannedPathView | null, steps: readonly StepOutput[]): PlannedPathView | null {
  const nodes = steps.flatMap((step) => step.tool ?? []);
  return path && nodes.length > 0 ? { ...path, nodes, fallback: false, why: "" } : path;
}

/** One action's news. */
export function withNews(actions: readonly ActionEntry[], id: string, news: Partial<ActionEntry>): ActionEntry[] {
  return actions.map((one) => (one.spec.id === id ? { ...one, ...news } : one));
}

const ENDED: Readonly<Record<Ended["reason"], string>> = {
  dependency_failed: "an action it depends on did not finish",
  stopped: "not begun when it was stopped",
  cancelled: "left out: the plan was given up",
  superseded: "left out: something else was done instead",
};

/** What is told of an action that an event ended without an outcome of its own. */
export function endedBy(event: SessionEvent, { reason }: Ended, state?: ActionState): Partial<ActionEntry> {
  if (state === "started") return { state: "failed", error: "Stopped by the person." };
  const said = reason === "superseded" && event.type === "message.received";
  const again = reason === "superseded" && (event.type === "turn.planned" || event.type === "turn.requested");
  return { state: "skipped", error: said ? "left out: you said something else" : again ? "left out: the turn was planned again" : ENDED[reason] };
}

/** What a person who stopped in the middle of a turn must know. */
export interface StopReport {
  done: ActionEntry[];
  running: ActionEntry[];
  never: ActionEntry[];
}

export function stopReport(actions: readonly ActionEntry[]): StopReport {
  return {
    done: actions.filter((one) => one.state === "finished"),
    running: actions.filter((one) => one.state === "started" || one.state === "uncertain"),
    never: actions.filter((one) => one.state === "skipped" || one.state === "denied"),
  };
}
