// What became of a turn's actions, as the journal tells it: the same rules as the domain's, which records no event for
// an action that could not begin any more. Pure.
import { PERSON, split, toolOf } from "../flow/spec";
import type { ActionSpec, Artefact, EventOf, PathPlan, StepOutput } from "../protocol";

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

const ENDED: ReadonlySet<ActionState> = new Set(["denied", "finished", "failed", "skipped"]);
const UNBEGUN: ReadonlySet<ActionState> = new Set(["planned", "approved", "asked"]);

/** The actions of a new turn; what the domain ruled out is decided from the beginning. */
export function planned(actions: readonly ActionSpec[]): ActionEntry[] {
  return actions.map((spec) => {
    const state = spec.ruling === "skip" ? "skipped" : spec.ruling === "deny" ? "denied" : "planned";
    return { spec, state, result: null, error: spec.why, seconds: 0, tokens: 0, artefact: null, decidedBy: "", left: false };
  });
}

const SPEC: Omit<ActionSpec, "id" | "tool" | "text"> = { arguments: {}, effect: "read", depends_on: [], approval: null, policy: null, repairs: [], ruling: "proceed", why: "" };

/** The actions that an approved path plan becomes, without an event that would tell them. */
export function fromSteps(turn: number, steps: readonly StepOutput[]): ActionEntry[] {
  return planned(steps.map((step, at) => ({ ...SPEC, id: `${turn}.${at + 1}`, tool: step.tool ?? "", text: step.text, depends_on: at > 0 ? [`${turn}.${at}`] : [] })));
}

/** A path with another rest: what had begun stays, and what a person set on the way is an action of theirs. */
export function rerouted(actions: readonly ActionEntry[], made: number, event: EventOf<"path.changed">): { actions: ActionEntry[]; made: number } {
  const begun = actions.filter((one) => !UNBEGUN.has(one.state));
  const [first] = event.actions.length > 0 ? event.actions : actions.map((one) => one.spec);
  const given = Object.keys(event.given).length > 0;
  const id = `${event.turn}.${made + 1}`;
  const said = { ...SPEC, id, tool: toolOf(split(first?.tool ?? "")[0], PERSON), text: `Set by the person: ${Object.keys(event.given).join(", ")}` };
  const own: ActionEntry[] = given ? planned([said]).map((one) => ({ ...one, state: "finished", result: event.given, decidedBy: event.actor })) : [];
  return { actions: [...begun, ...own, ...planned(event.actions)], made: made + own.length + event.actions.length };
}

/** A path as a person has edited it is theirs, whatever it was planned as. */
export function editedPath(path: PathPlan | null, steps: readonly StepOutput[]): PathPlan | null {
  const nodes = steps.flatMap((step) => step.tool ?? []);
  return path && nodes.length > 0 ? { ...path, nodes, fallback: false, why: "" } : path;
}

/** One action's news; whatever waited for an outcome that will not come is skipped with it. */
export function withNews(actions: readonly ActionEntry[], id: string, news: Partial<ActionEntry>): ActionEntry[] {
  return dropBlocked(actions.map((one) => (one.spec.id === id ? { ...one, ...news } : one)));
}

/** It will not be known to have ended well. */
function isDead(one: ActionEntry): boolean {
  if (one.state === "uncertain") return one.left;
  return ENDED.has(one.state) && one.state !== "finished" && one.spec.ruling !== "skip";
}

function dropBlocked(actions: ActionEntry[]): ActionEntry[] {
  const dead = new Set(actions.filter(isDead).map((one) => one.spec.id));
  const blocked = (one: ActionEntry) => (one.state === "planned" || one.state === "approved") && one.spec.depends_on.some((id) => dead.has(id));
  if (!actions.some(blocked)) return actions;
  return dropBlocked(actions.map((one) => (blocked(one) ? { ...one, state: "skipped", error: "an action it depends on did not finish" } : one)));
}

/** The turn was left: what had not begun will not. What had begun keeps waiting for its outcome. */
export function leftBehind(actions: readonly ActionEntry[], why: string): readonly ActionEntry[] {
  if (!actions.some((one) => UNBEGUN.has(one.state))) return actions;
  return actions.map((one) => (UNBEGUN.has(one.state) ? { ...one, state: "skipped", error: why } : one));
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
