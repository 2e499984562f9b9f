// All versions of the plan and of the code, as the journal tells them: oldest first, numbered for people.
import type { EventOf, SessionEvent, StepOutput } from "../protocol";
import type { Snapshot } from "./state";

export interface PlanVersion {
  version: number;
  number: number;
  goal: string;
  steps: readonly StepOutput[];
  notes: string;
  by: string;
  at: string | null;
  /** The person's words that led to it; "" for an edit. */
  reason: string;
}

export interface CodeVersion {
  version: number;
  number: number;
  code: string;
  explanation: string;
  by: string;
  at: string | null;
  checks: EventOf<"code.verified">["checks"] | null;
  tests: string;
}

type Numbered = { version: number; number: number };

// A fork begins with its parent's newest version, whose event it does not have.
function whole<T extends Numbered>(told: T[], current: T | null): T[] {
  return current && !told.some((one) => one.version === current.version) ? [current, ...told] : told;
}

export function planVersions(events: readonly SessionEvent[], snapshot: Snapshot | null): PlanVersion[] {
  const told: PlanVersion[] = [];
  for (const event of events)
    if (event.type === "plan.drafted" || event.type === "plan.edited")
      told.push({ ...made(event), goal: event.goal, steps: event.steps, notes: event.notes, reason: event.type === "plan.drafted" ? (event.reason ?? "") : "" });
  return whole(told, snapshot?.plan ? { ...snapshot.plan, at: null, reason: "" } : null);
}

export function codeVersions(events: readonly SessionEvent[], snapshot: Snapshot | null): CodeVersion[] {
  const told: CodeVersion[] = [];
  for (const event of events) {
    if (event.type === "code.drafted" || event.type === "code.edited") {
      const explanation = event.type === "code.drafted" ? event.explanation : "";
      told.push({ ...made(event), code: event.code, explanation, checks: null, tests: "" });
    }
    if (event.type === "code.verified") {
      const checked = told.find((one) => one.version === event.code_version);
      if (checked) Object.assign(checked, { checks: event.checks, tests: event.tests });
    }
  }
  const code = snapshot?.code;
  return whole(told, code ? { ...code, at: null, checks: code.checks.length ? code.checks : null } : null);
}

function made(event: { version: number; number?: number; actor: string; at: string }) {
  return { version: event.version, number: event.number ?? 0, by: event.actor, at: event.at };
}

/** The plan as text, a line a step: what two versions are compared by. Without numbers, which would all differ after a new step. */
export function planLines(plan: PlanVersion): string {
  const steps = plan.steps.map((step) => `- ${step.text}`);
  return [`Goal: ${plan.goal}`, "", ...steps, ...(plan.notes ? ["", `Notes: ${plan.notes}`] : [])].join("\n") + "\n";
}
