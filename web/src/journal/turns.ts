// What became of a turn's actions, as the journal tells it: the same rules as the domain's, which records no event for
// an action that could not begin any more. Pure.
import type { ActionSpec, Artefact, EventOf } from "../protocol";

export type ActionState = "planned" | "approved" | "denied" | "started" | "asked" | "finished" | "failed" | "skipped" | "uncertain";

export interface ActionEntry {
  spec: ActionSpec;
  state: ActionState;
  result: unknown;
  error: string;
  seconds: number;
  artefact: Artefact | null;
  /** Who allowed or refused it, "" if nobody was asked. */
  decidedBy: string;
  /** In doubt, and the person left it at that. */
  left: boolean;
}

const ENDED: ReadonlySet<ActionState> = new Set(["denied", "finished", "failed", "skipped"]);
const UNBEGUN: ReadonlySet<ActionState> = new Set(["planned", "approved", "asked"]);

/** The actions of a new turn; what the domain ruled out is decided from the beginning. */
export function planned(event: EventOf<"turn.planned">): ActionEntry[] {
  return event.actions.map((spec) => {
    const state = spec.ruling === "skip" ? "skipped" : spec.ruling === "deny" ? "denied" : "planned";
    return { spec, state, result: null, error: spec.why, seconds: 0, artefact: null, decidedBy: "", left: false };
  });
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
