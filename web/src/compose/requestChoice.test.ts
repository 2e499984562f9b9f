import { expect, it } from "vitest";
import type { Snapshot } from "../state/state";
import { DEFAULT_CHOICE, effectiveChoice, parseChoice, requestFields } from "./requestChoice";

const newConversation = { sessionId: null, snapshot: null };
const settings = { max_turns: 9, approval: "always", world: "own", recall: true, quality: "thorough", confirm: "path", token_budget: 500, cost_budget: null, planning: { flow: "", use_planning: true, cache: true, temperature: 0.3 } };
const ongoing = { sessionId: "s", snapshot: { workflow: "agentflow", settings } as unknown as Snapshot };
const choice = { ...DEFAULT_CHOICE, workflow: "agentflow" as const, max_turns: 3 };

it("restores only the stored values that are still valid", () => {
  expect(parseChoice(null)).toEqual(DEFAULT_CHOICE);
  expect(parseChoice("{broken")).toEqual(DEFAULT_CHOICE);
  expect(parseChoice('{"workflow": "agentflow", "max_turns": "7", "recall": false}')).toEqual({ ...DEFAULT_CHOICE, workflow: "agentflow", recall: false });
  expect(parseChoice('{"workflow": "unknown_workflow"}')).toEqual(DEFAULT_CHOICE);
  expect(parseChoice('{"max_turns": 1000}')).toEqual(DEFAULT_CHOICE);
  expect(parseChoice('{"confirm": "twice"}')).toEqual(DEFAULT_CHOICE);
});

it("starts a conversation with the last choice, and sends settings only for workflows with tools", () => {
  expect(effectiveChoice({ remembered: choice, changes: null }, newConversation)).toEqual(choice);
  const { workflow, flow, use_planning, cache, ...rest } = choice;
  expect(requestFields(choice, newConversation)).toEqual({ workflow, settings: { ...rest, planning: { flow, use_planning, cache } } });
  expect(requestFields(DEFAULT_CHOICE, newConversation)).toEqual({ workflow: "conversation" });
});

it("sends no settings in a session until the user changes one, and then keeps the session's budgets", () => {
  const current = effectiveChoice({ remembered: choice, changes: null }, ongoing);
  expect(current).toMatchObject({ max_turns: 9, world: "own" });
  expect(requestFields(current, ongoing)).toEqual({});
  const changed = effectiveChoice({ remembered: choice, changes: { sessionId: "s", change: { recall: false } } }, ongoing);
  expect(requestFields(changed, ongoing)).toEqual({ settings: { ...settings, require_plan_approval: true, recall: false } });
  expect(effectiveChoice({ remembered: choice, changes: { sessionId: "other", change: { recall: false } } }, ongoing).recall).toBe(true);
});

it("sends require_plan_approval only if it is off or the session has it", () => {
  const changed = effectiveChoice({ remembered: choice, changes: { sessionId: "s", change: { require_plan_approval: false } } }, ongoing);
  expect(requestFields(changed, ongoing).settings).toMatchObject({ require_plan_approval: false });
  const withoutPlanApproval = { sessionId: "s", snapshot: { workflow: "agentflow", settings: { ...settings, require_plan_approval: false } } as unknown as Snapshot };
  const unchanged = effectiveChoice({ remembered: choice, changes: null }, withoutPlanApproval);
  expect([unchanged.require_plan_approval, requestFields(unchanged, withoutPlanApproval)]).toEqual([false, {}]);
});

it("keeps the planning settings that the user did not change", () => {
  const changed = effectiveChoice({ remembered: choice, changes: { sessionId: "s", change: { flow: "triage" } } }, ongoing);
  expect(changed).toMatchObject({ confirm: "path", flow: "triage", use_planning: true });
  expect(requestFields(changed, ongoing)).toEqual({ settings: { ...settings, require_plan_approval: true, planning: { ...settings.planning, flow: "triage" } } });
});
