// The journal as it is read: events that tell of the same thing become one entry. Pure.
import type { ActionSpecOutput as ActionSpec, EventOf, SessionEvent } from "../protocol";

type Base = { version: number; at: string; by: string };
export type ActionState = "planned" | "approved" | "denied" | "started" | "finished" | "failed" | "skipped" | "uncertain";
export interface ActionEntry {
  spec: ActionSpec;
  state: ActionState;
  result: unknown;
  error: string;
  seconds: number;
}
export type Entry = Base &
  (
    | { kind: "said"; text: string; intent: EventOf<"message.received">["intent"]; knowledge: string[] }
    | { kind: "plan"; number: number; event: EventOf<"plan.drafted"> | EventOf<"plan.edited"> }
    | { kind: "code"; number: number; event: EventOf<"code.drafted"> | EventOf<"code.edited">; checks: EventOf<"code.verified">["checks"] | null }
    | { kind: "question"; actionId: string; text: string; options: readonly string[]; answer: string | null }
    | { kind: "turn"; number: number; subGoal: string; actions: ActionEntry[]; verdict: EventOf<"turn.verified"> | null }
    | { kind: "answer"; text: string; confidence: number }
    | { kind: "failure"; stage: string; reason: string; raw: string }
    | { kind: "note"; tone: "good" | "bad" | "plain"; text: string }
  );
type Kind<K extends Entry["kind"]> = Extract<Entry, { kind: K }>;

/** Everything worth reading, oldest first. */
export function entries(events: readonly SessionEvent[]): Entry[] {
  const all: Entry[] = [];
  for (const event of events) told(all, event);
  return all;
}

function told(all: Entry[], event: SessionEvent): void {
  const base: Base = { version: event.version, at: event.at, by: event.actor };
  const note = (text: string, tone: "good" | "bad" | "plain" = "plain") => all.push({ ...base, kind: "note", tone, text });
  switch (event.type) {
    case "message.received":
      all.push({ ...base, kind: "said", text: event.text, intent: event.intent, knowledge: event.knowledge.map((one) => one.name) });
      return;
    case "plan.drafted":
    case "plan.edited":
      all.push({ ...base, kind: "plan", number: count(all, "plan") + 1, event });
      return;
    case "plan.approved":
      note(`approved plan ${numberOf(all, "plan", event.plan_version)}`, "good");
      return;
    case "plan.rejected":
      note(event.replan ? "asked for another plan" : `declined plan ${numberOf(all, "plan", event.plan_version)}`);
      return;
    case "plan.cancelled":
      note("gave the plan up", "bad");
      return;
    case "plan.deleted":
      note("deleted the plan", "bad");
      return;
    case "code.drafted":
    case "code.edited":
      all.push({ ...base, kind: "code", number: count(all, "code") + 1, event, checks: null });
      return;
    case "code.verified":
      change(all, "code", (one) => one.version === event.code_version, { checks: event.checks });
      return;
    case "code.approved":
      note(`approved code ${numberOf(all, "code", event.code_version)}`, "good");
      return;
    case "code.rejected":
      note(event.replan ? "asked for other code" : `declined code ${numberOf(all, "code", event.code_version)}`);
      return;
    case "question.asked":
      all.push({ ...base, kind: "question", actionId: event.action_id, text: event.text, options: event.options, answer: null });
      return;
    case "question.answered":
      change(all, "question", (one) => one.actionId === event.action_id, { answer: event.text });
      outcome(all, event.action_id, { state: "finished", result: event.text });
      return;
    case "turn.planned":
      all.push({ ...base, kind: "turn", number: event.turn, subGoal: event.sub_goal, actions: event.actions.map(planned), verdict: null });
      return;
    case "approval.given":
      outcome(all, event.action_id, { state: "approved" });
      note(`approved action ${event.action_id}`, "good");
      return;
    case "approval.denied":
      outcome(all, event.action_id, { state: "denied", error: event.reason });
      note(`refused action ${event.action_id}${event.reason ? `: ${event.reason}` : ""}`, "bad");
      return;
    case "approval.expired":
      note("Nobody decided in time", "bad");
      return;
    case "actions.started":
      for (const id of event.action_ids) outcome(all, id, { state: "started" });
      return;
    case "action.finished":
      outcome(all, event.action_id, { state: event.ok ? "finished" : "failed", result: event.result, error: event.error, seconds: event.seconds });
      return;
    case "action.skipped":
      outcome(all, event.action_id, { state: "skipped", error: event.reason });
      return;
    case "action.uncertain":
      outcome(all, event.action_id, { state: "uncertain", error: event.reason });
      return;
    case "turn.verified":
      change(all, "turn", (one) => one.number === event.turn, { verdict: event });
      return;
    case "answer.given":
      all.push({ ...base, kind: "answer", text: event.text, confidence: event.confidence });
      return;
    case "usage.spent":
      return; // summed in the header
    case "budget.raised":
      note(`raised the budget${event.tokens ? ` by ${event.tokens} tokens` : ""}${event.cost ? ` by $${event.cost}` : ""}`);
      return;
    case "policy.remembered":
      note(`from now on, approval for ${event.tool}: ${event.policy}`);
      return;
    case "session.stopped":
      note(`stopped${event.reason ? `: ${event.reason}` : ""}`, "bad");
      return;
    case "session.paused":
      note("paused");
      return;
    case "session.resumed":
      note("went on");
      return;
    case "session.failed":
      all.push({ ...base, kind: "failure", stage: event.stage, reason: event.reason, raw: event.raw });
      return;
    case "session.retried":
      note("tried again");
      return;
    case "session.escalated":
      note(`needs a person: ${event.reason}`, "bad");
      return;
    case "session.completed":
      note("marked this as complete", "good");
      return;
    case "session.forked":
      note("began this session as a fork");
      return;
    case "session.renamed":
      note(`renamed this to “${event.title}”`);
      return;
    case "session.shared":
      note(`shared this with ${event.user}`);
      return;
    case "session.workflow_chosen":
      note(`chose the workflow ${event.workflow}`);
      return;
    default:
      return unknown(event);
  }
}

/** What a newer gateway records and this page does not know is left out. */
function unknown(_event: never): void {}

function planned(spec: ActionSpec): ActionEntry {
  return { spec, state: "planned", result: null, error: "", seconds: 0 };
}

function count(all: readonly Entry[], kind: Entry["kind"]): number {
  return all.filter((one) => one.kind === kind).length;
}

function numberOf(all: readonly Entry[], kind: "plan" | "code", version: number): number | string {
  const found = all.find((one) => one.kind === kind && one.version === version);
  return found && "number" in found ? found.number : "";
}

function change<K extends Entry["kind"]>(all: Entry[], kind: K, is: (one: Kind<K>) => boolean, fields: Partial<Kind<K>>): void {
  const at = all.findLastIndex((one) => one.kind === kind && is(one as Kind<K>));
  if (at >= 0) all[at] = { ...all[at], ...fields } as Entry;
}

function outcome(all: Entry[], actionId: string, fields: Partial<ActionEntry>): void {
  const has = (one: Kind<"turn">) => one.actions.some((action) => action.spec.id === actionId);
  const turn = all.findLast((one): one is Kind<"turn"> => one.kind === "turn" && has(one));
  if (!turn) return;
  const actions = turn.actions.map((one) => (one.spec.id === actionId ? { ...one, ...fields } : one));
  change(all, "turn", has, { actions });
}
