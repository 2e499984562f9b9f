// The journal as it is read: events that tell of the same thing become one entry. Pure.
import { type Found, foundBy } from "../flow/found";
import { ASKED, tablesOf } from "../flow/tables";
import type { EventOf, PlannedPathView, Recalled, SessionEvent } from "../protocol";
import { type ActionEntry, changed, editedPath, endedBy, pathOf, planned, withNews } from "./turns";

type Base = { version: number; at: string; by: string };
/** An action that an answer rests on. */
export interface Evidence {
  id: string;
  tool: string;
}
export interface TurnEntry extends Base {
  kind: "turn";
  number: number;
  subGoal: string;
  selectedTool: string;
  skills: readonly string[];
  reasoning: string;
  final: boolean;
  recalled: readonly Recalled[];
  actions: readonly ActionEntry[];
  verdict: EventOf<"turn.verified"> | null;
  /** Its actions are nodes of flows: the path as it was planned. */
  path: PlannedPathView | null;
  /** Why the path became another one, oldest first; "" where a person wanted it so or nothing else changed. */
  changes: readonly { by: string; why: string }[];
  /** How many actions there have been, with those that were replaced. */
  made: number;
}
export type Entry = Base &
  (
    | { kind: "reply"; text: string }
    | { kind: "said"; text: string; intent: EventOf<"message.received">["intent"]; knowledge: string[] }
    | { kind: "plan"; number: number; event: EventOf<"plan.drafted"> | EventOf<"plan.edited">; path: PlannedPathView | null }
    | { kind: "code"; number: number; event: EventOf<"code.drafted"> | EventOf<"code.edited">; checks: EventOf<"code.verified">["checks"] | null }
    | { kind: "question"; actionId: string; text: string; options: readonly string[]; answer: string | null }
    | TurnEntry
    | { kind: "answer"; text: string; confidence: number; evidence: Evidence[]; found: Found | null; accepted: boolean; saved: boolean }
    | { kind: "failure"; stage: string; reason: string; raw: string }
    | { kind: "note"; tone: "good" | "bad" | "plain"; text: string }
  );
type Kind<K extends Entry["kind"]> = Extract<Entry, { kind: K }>;

/** Everything worth reading, oldest first. */
export function entries(events: readonly SessionEvent[]): Entry[] {
  const all: Entry[] = [];
  for (const event of events) {
    told(all, event);
    for (const one of event.ended ?? []) outcome(all, one.id, endedBy(event, one, actionOf(all, one.id)?.state));
    for (const id of event.begins ?? []) outcome(all, id, { state: "started" });
    countUsage(all, event.usage);
  }
  return all;
}

function told(all: Entry[], event: SessionEvent): void {
  const base: Base = { version: event.version, at: event.at, by: event.actor };
  const note = (text: string, tone: "good" | "bad" | "plain" = "plain") => all.push({ ...base, kind: "note", tone, text });
  switch (event.type) {
    case "message.received":
      all.push({ ...base, kind: "said", text: event.text, intent: event.intent, knowledge: event.knowledge.map((one) => one.name) });
      return;
    case "remark.answered":
      all.push({ ...base, kind: "reply", text: event.text });
      return;
    case "plan.drafted":
      if (event.begins_round) begun(all);
      all.push({ ...base, kind: "plan", number: count(all, "plan") + 1, event, path: pathOf(event.path) });
      return;
    case "plan.edited": {
      const before = all.findLast((one) => one.kind === "plan");
      all.push({ ...base, kind: "plan", number: count(all, "plan") + 1, event, path: editedPath(before?.kind === "plan" ? before.path : null, event.steps) });
      return;
    }
    case "plan.approved":
      note(`approved plan ${numberOf(all, "plan", event.plan_version)}`, "good");
      if (event.turn !== null) all.push({ ...base, kind: "turn", ...approvedTurn(all, event, event.turn) });
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
      if (event.kind === "action") outcome(all, event.question_id, { state: "asked" });
      all.push({ ...base, kind: "question", actionId: event.question_id, text: tablesOf(event.form) ? ASKED : event.text, options: event.options.map((one) => one.label), answer: null });
      return;
    case "question.answered":
      change(all, "question", (one) => one.actionId === event.question_id, { answer: event.text });
      answered(all, event);
      return;
    case "turn.planned":
      if (event.begins_round) begun(all);
      all.push({ ...base, kind: "turn", ...turnOf(event) });
      return;
    case "turn.requested":
      all.push({ ...base, kind: "turn", ...requestedTurn(event) });
      return;
    case "turn.changed":
      change(all, "turn", (one) => one.number === event.turn, restOf(all, event));
      return;
    case "approval.given":
      outcome(all, event.action_id, { state: "approved", decidedBy: event.actor });
      return;
    case "approval.denied":
      outcome(all, event.action_id, { state: "denied", error: event.reason, decidedBy: event.actor });
      return;
    case "approval.expired":
      for (const id of event.denied ?? []) outcome(all, id, { state: "skipped", error: "not run: nobody decided in time" });
      note("Nobody decided in time", "bad");
      return;
    case "actions.started":
      for (const one of event.actions) outcome(all, one.action_id, { state: "started", artefact: null });
      return;
    case "actions.finished":
      for (const one of event.outcomes) outcome(all, one.action_id, { state: one.ok ? "finished" : "failed", result: one.result, error: one.error, seconds: one.seconds });
      return;
    case "result.stored":
      outcome(all, event.action_id, { artefact: event.artefact });
      return;
    case "result.lost":
      outcome(all, event.action_id, { error: actionOf(all, event.action_id)?.error || event.reason });
      return;
    case "action.skipped":
      outcome(all, event.action_id, { state: "skipped", error: event.reason });
      return;
    case "action.uncertain":
      // A read of which nobody knows has changed nothing: there is no doubt about it.
      outcome(all, event.action_id, { state: actionOf(all, event.action_id)?.spec.effect === "read" ? "failed" : "uncertain", error: event.reason });
      return;
    case "turn.verified":
      change(all, "turn", (one) => one.number === event.turn, { verdict: event });
      return;
    case "answer.given":
      all.push({ ...base, kind: "answer", text: event.text, confidence: event.confidence, evidence: evidenceOf(all, event.evidence), found: foundOf(all), accepted: false, saved: false });
      return;
    case "answer.judged":
      change(all, "answer", () => true, { accepted: event.accepted, saved: event.saved });
      return;
    case "usage.recorded":
      return;
    case "budget.raised":
      note(`raised the budget${event.tokens ? ` by ${event.tokens} tokens` : ""}${event.cost ? ` by $${event.cost}` : ""}`);
      return;
    case "policy.set":
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
      all.push({ ...base, kind: "failure", stage: event.phase, reason: event.reason, raw: event.model_reply });
      return;
    case "session.retried":
      note("tried again");
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
      note(event.role ? `shared this with ${event.user} (${event.role})` : `no longer shares this with ${event.user}`);
      return;
    case "session.workflow_changed":
      note(`chose the workflow ${event.workflow}`);
      return;
    default:
      return unknown(event);
  }
}

/** The remark that this draft answers was a new request. */
function begun(all: Entry[]): void {
  change(all, "said", (one) => one.intent === "remark", { intent: "request" });
}

/** What a newer gateway records and this page does not know is left out. */
function unknown(_event: never): void {}

function turnOf(event: EventOf<"turn.planned">) {
  return {
    number: event.turn,
    subGoal: event.sub_goal,
    selectedTool: event.selected_tool,
    skills: event.required_skills,
    reasoning: event.reasoning,
    final: event.final,
    recalled: event.recalled,
    actions: planned(event.actions),
    verdict: null,
    path: pathOf(event.path),
    changes: [],
    made: event.actions.length,
  };
}

/** A person's own calls. */
function requestedTurn(event: EventOf<"turn.requested">) {
  const actions = planned(event.actions);
  const words = { selectedTool: "", skills: [], reasoning: "", final: false, recalled: [], verdict: null, path: null, changes: [] };
  return { ...words, number: event.turn, subGoal: event.sub_goal, actions, made: actions.length };
}

/** An approved plan whose steps act: its turn is in the event, and is by whoever made the plan. */
function approvedTurn(all: readonly Entry[], event: EventOf<"plan.approved">, number: number) {
  const plan = all.findLast((one) => one.kind === "plan" && one.version === event.plan_version);
  const made = plan?.kind === "plan" ? { by: plan.by, subGoal: plan.event.goal, path: plan.path } : { by: event.actor, subGoal: "", path: null };
  const words = { selectedTool: "", skills: [], reasoning: "", final: made.path !== null, recalled: [], verdict: null, changes: [] };
  return { ...made, ...words, number, actions: planned(event.actions), made: event.actions.length };
}

function restOf(all: readonly Entry[], event: EventOf<"turn.changed">): Partial<TurnEntry> {
  const turn = all.findLast((one) => one.kind === "turn" && one.number === event.turn);
  if (turn?.kind !== "turn") return {};
  return { ...changed(turn.actions, turn.made, event), changes: [...turn.changes, { by: event.actor, why: event.reason }] };
}

/** What the path before an answer came to, if it was one. */
function foundOf(all: readonly Entry[]): Found | null {
  const turn = all.findLast((one) => one.kind === "turn");
  return turn?.kind === "turn" && turn.path ? foundBy(turn.actions) : null;
}

/** The tokens of the actions that these model calls were made for; the rest is summed in the header. */
function countUsage(all: Entry[], usage: SessionEvent["usage"]): void {
  for (const call of usage ?? []) {
    const action = call.action_id ? actionOf(all, call.action_id) : undefined;
    if (action) outcome(all, action.spec.id, { tokens: action.tokens + call.prompt_tokens + call.completion_tokens });
  }
}

function actionOf(all: readonly Entry[], id: string): ActionEntry | undefined {
  return all.flatMap((one) => (one.kind === "turn" ? one.actions : [])).findLast((one) => one.spec.id === id);
}

function evidenceOf(all: readonly Entry[], ids: readonly string[]): Evidence[] {
  const actions = all.flatMap((one) => (one.kind === "turn" ? one.actions : []));
  return ids.map((id) => ({ id, tool: actions.findLast((one) => one.spec.id === id)?.spec.tool ?? "" }));
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

// What people say about an action of which nobody knew whether it took effect.
const CLEARED: Record<string, Partial<ActionEntry>> = {
  happened: { state: "finished", error: "" },
  again: { state: "approved", error: "" },
};

/** The answer is the action's result, or tells what became of one that was uncertain. */
function answered(all: Entry[], event: EventOf<"question.answered">): void {
  const action = actionOf(all, event.question_id);
  const turn = all.findLast((one) => one.kind === "turn");
  const state = turn?.kind === "turn" && turn.path ? "approved" : "finished"; // a node takes the answer in before it ends
  if (action?.state !== "uncertain") return outcome(all, event.question_id, { state, result: event.text });
  outcome(all, event.question_id, { ...(CLEARED[event.key ?? ""] ?? { left: true }), decidedBy: event.actor });
}

function outcome(all: Entry[], actionId: string, news: Partial<ActionEntry>): void {
  const has = (one: Kind<"turn">) => one.actions.some((action) => action.spec.id === actionId);
  const turn = all.findLast((one): one is Kind<"turn"> => one.kind === "turn" && has(one));
  if (turn) change(all, "turn", has, { actions: withNews(turn.actions, actionId, news) });
}
