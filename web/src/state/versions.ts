// All versions of the plan and of the code, from the journal: oldest first.
import type { EntryOf, JournalEntry, StepOutput } from "../protocol";
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
  checks: EntryOf<"code">["checks"];
  tests: string;
}

type VersionNumber = { version: number; number: number };

// A fork starts with its parent's newest version, for which it has no entry.
function withCurrent<T extends VersionNumber>(versions: T[], current: T | null): T[] {
  return current && !versions.some((item) => item.version === current.version) ? [current, ...versions] : versions;
}

type Journal = ReadonlyMap<string, JournalEntry>;

export function planVersions(journal: Journal, snapshot: Snapshot | null): PlanVersion[] {
  const versions = [...journal.values()].filter((entry) => entry.kind === "plan").map((entry): PlanVersion => ({ ...entry, notes: entry.notes ?? "", reason: entry.reason ?? "" }));
  return withCurrent(versions, snapshot?.plan ? { ...snapshot.plan, at: null, reason: "" } : null);
}

export function codeVersions(journal: Journal, snapshot: Snapshot | null): CodeVersion[] {
  const versions = [...journal.values()].filter((entry) => entry.kind === "code").map((entry): CodeVersion => ({ ...entry, explanation: entry.explanation ?? "", tests: entry.tests ?? "" }));
  const code = snapshot?.code;
  return withCurrent(versions, code ? { ...code, at: null, checks: code.checks.length ? code.checks : null } : null);
}

/**
 * The plan as text, one line per step, for comparing versions. Steps have no numbers: they would all differ after an
 * insert.
 */
export function planText(plan: PlanVersion): string {
  const steps = plan.steps.map((step) => `- ${step.text}`);
  return [`Goal: ${plan.goal}`, "", ...steps, ...(plan.notes ? ["", `Notes: ${plan.notes}`] : [])].join("\n") + "\n";
}
