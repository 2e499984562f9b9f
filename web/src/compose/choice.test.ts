import { expect, it } from "vitest";
import type { Snapshot } from "../state/state";
import { carried, chosen, FIRST, restored } from "./choice";

const fresh = { sessionId: null, snapshot: null };
const settings = { max_turns: 9, approval: "always", world: "own", recall: true, quality: "thorough", confirm: "path", token_budget: 500, cost_budget: null, planning: { flow: "", use_planning: true, cache: true, temperature: 0.3 } };
const going = { sessionId: "s", snapshot: { workflow: "agentflow", settings } as unknown as Snapshot };
const mine = { ...FIRST, workflow: "agentflow" as const, max_turns: 3 };

it("takes what was kept as far as it means something", () => {
  expect(restored(null)).toEqual(FIRST);
  expect(restored("{broken")).toEqual(FIRST);
  expect(restored('{"workflow": "agentflow", "max_turns": "7", "recall": false}')).toEqual({ ...FIRST, workflow: "agentflow", recall: false });
  expect(restored('{"workflow": "of_tomorrow"}')).toEqual(FIRST);
  expect(restored('{"max_turns": 1000}')).toEqual(FIRST);
  expect(restored('{"confirm": "twice"}')).toEqual(FIRST);
});

it("begins a conversation with what was chosen last, and tells the settings where there are tools", () => {
  expect(chosen({ remembered: mine, changes: null }, fresh)).toEqual(mine);
  const { workflow, flow, use_planning, cache, ...rest } = mine;
  expect(carried(mine, fresh)).toEqual({ workflow, settings: { ...rest, planning: { flow, use_planning, cache } } });
  expect(carried(FIRST, fresh)).toEqual({ workflow: "conversation" });
});

it("leaves a session as it is until the person changes something, and then keeps its budgets", () => {
  const now = chosen({ remembered: mine, changes: null }, going);
  expect(now).toMatchObject({ max_turns: 9, world: "own" });
  expect(carried(now, going)).toEqual({});
  const changed = chosen({ remembered: mine, changes: { sessionId: "s", change: { recall: false } } }, going);
  expect(carried(changed, going)).toEqual({ settings: { ...settings, require_plan_approval: true, recall: false } });
  expect(chosen({ remembered: mine, changes: { sessionId: "other", change: { recall: false } } }, going).recall).toBe(true);
});

it("tells of a plan that needs no approval, and says nothing of one that does where the session says nothing either", () => {
  const changed = chosen({ remembered: mine, changes: { sessionId: "s", change: { require_plan_approval: false } } }, going);
  expect(carried(changed, going).settings).toMatchObject({ require_plan_approval: false });
  const free = { sessionId: "s", snapshot: { workflow: "agentflow", settings: { ...settings, require_plan_approval: false } } as unknown as Snapshot };
  const now = chosen({ remembered: mine, changes: null }, free);
  expect([now.require_plan_approval, carried(now, free)]).toEqual([false, {}]);
});

it("changes of the planning only what the person changed", () => {
  const changed = chosen({ remembered: mine, changes: { sessionId: "s", change: { flow: "triage" } } }, going);
  expect(changed).toMatchObject({ confirm: "path", flow: "triage", use_planning: true });
  expect(carried(changed, going)).toEqual({ settings: { ...settings, require_plan_approval: true, planning: { ...settings.planning, flow: "triage" } } });
});
