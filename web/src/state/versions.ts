// All versions of the plan and of the code, from the events: oldest first.
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
  /** The user's words that led to it; "" for an edit. */
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

type VersionNumber = { version: number; number: number };

// A fork starts with its parent's newest version, for which it has no event.
function withCurrent<T extends VersionNumber>(versions: T[], current: T | null): T[] {
  return current && !versions.some((item) => item.version === current.version) ? [current, ...versions] : versions;
}

export function planVersions(events: readonly SessionEvent[], snapshot: Snapshot | null): PlanVersion[] {
  const versions: PlanVersion[] = [];
  for (const event of events)
    if (event.type === "plan.drafted" || event.type === "plan.edited")
      versions.push({ ...versionFields(event), goal: event.goal, steps: event.steps, notes: event.notes, reason: event.type === "plan.drafted" ? (event.reason ?? "") : "" });
  return withCurrent(versions, snapshot?.plan ? { ...snapshot.plan, at: null, reason: "" } : null);
}

export function codeVersions(events: readonly SessionEvent[], snapshot: Snapshot | null): CodeVersion[] {
  const versions: CodeVersion[] = [];
  for (const event of events) {
    if (event.type === "code.drafted" || event.type === "code.edited") {
      const explanation = event.type === "code.drafted" ? event.explanation : "";
      versions.push({ ...versionFields(event), code: event.code, explanation, checks: null, tests: "" });
    }
    if (event.type === "code.verified") {
      const verified = versions.find((version) => version.version === event.code_version);
      if (verified) Object.assign(verified, { checks: event.checks, tests: event.tests });
    }
  }
  const code = snapshot?.code;
  return withCurrent(versions, code ? { ...code, at: null, checks: code.checks.length ? code.checks : null } : null);
}

type Written = EventOf<"plan.drafted" | "plan.edited" | "code.drafted" | "code.edited">;

function versionFields(event: Written) {
  return { version: event.version, number: event.number ?? 0, by: authorOf(event), at: event.at };
}

/** Who wrote it; an offer that a user took is its service's. */
function authorOf(event: Written): string {
  const isOffer = (event.type === "plan.drafted" || event.type === "code.drafted") && typeof event.offer === "number";
  return isOffer ? (event.type === "plan.drafted" ? "planner" : "generator") : event.actor;
}

/**
 * The plan as text, one line per step, for comparing versions. Steps have no numbers: they would all differ after an
 * insert.
 */
export function planText(plan: PlanVersion): string {
  const steps = plan.steps.map((step) => `- ${step.text}`);
  return [`Goal: ${plan.goal}`, "", ...steps, ...(plan.notes ? ["", `Notes: ${plan.notes}`] : [])].join("\n") + "\n";
}
