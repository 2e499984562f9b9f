import { expect, it } from "vitest";
import { fill, STATUS } from "../words";
import { holdsChanges, type Snapshot, withdrawsMessage } from "../state/state";
import { activityOf, idleStatus } from "./activity";

const EXECUTOR = { service: "executor", version: 4 };
const REPLY = { service: "planner", version: 9 };
const OFFER = { version: 10, draft: { type: "turn" } };

const snapshot = (fields: object): Snapshot =>
  ({ workflow: "execution_plan", phase: "executing", reason: "new", paused: false, work: null, reply: null, offer: null, approval_request: null, steps: {}, ...fields }) as unknown as Snapshot;

it("names the work and the reply beside it, and says that no change begins before the reply", () => {
  const words = activityOf(snapshot({ work: EXECUTOR, reply: REPLY }));
  expect(words).toBe(`executor is carrying out the plan · ${fill(STATUS.replying_holds, { service: "planner" })}`);
});

it("says nothing of changes where none could begin", () => {
  for (const phase of ["resting", "awaiting_approval"]) expect(activityOf(snapshot({ phase, reply: REPLY }))).toBe(fill(STATUS.replying, { service: "planner" }));
  expect(activityOf(snapshot({ phase: "awaiting_approval", approval_request: { actions: ["1.1"] }, reply: REPLY }))).toBe(fill(STATUS.replying_holds, { service: "planner" }));
});

it("tells of an open offer, whether or not something goes on", () => {
  const held = snapshot({ offer: OFFER });
  expect([activityOf(held), idleStatus(held, false)]).toEqual(["", STATUS.offer]);
  expect(activityOf(snapshot({ work: EXECUTOR, offer: OFFER }))).toBe(`executor is carrying out the plan · ${STATUS.offer}`);
  expect(holdsChanges(held)).toBe(true);
  expect(holdsChanges(snapshot({ phase: "resting", offer: OFFER }))).toBe(false);
});

it("calls a stop a withdrawal only where nothing but the reply goes on", () => {
  expect(withdrawsMessage(snapshot({ phase: "awaiting_approval", reply: REPLY }))).toBe(true);
  expect(withdrawsMessage(snapshot({ phase: "waiting", reply: REPLY }))).toBe(true);
  expect(withdrawsMessage(snapshot({ reply: REPLY }))).toBe(false);
  expect(withdrawsMessage(snapshot({ phase: "awaiting_approval" }))).toBe(false);
});
