import { expect, it } from "vitest";
import type { ServerMessage } from "../protocol";
import { backoff } from "./backoff";
import { newId, type PendingCommand, unsettled } from "./sendQueue";

const pending: PendingCommand[] = [
  { id: "a", sessionId: "s", command: { type: "stop" } },
  { id: "b", sessionId: "s", command: { type: "fork" } },
];
const pendingIdsAfter = (message: unknown) => unsettled(pending, message as ServerMessage).map((item) => item.id);

it("removes a pending command once it is recorded or refused, but not after a transient error", () => {
  expect(pendingIdsAfter({ type: "event", event_id: "s:a", session_id: "s" })).toEqual(["b"]);
  expect(pendingIdsAfter({ type: "error", reply_to: "b" })).toEqual(["a"]);
  expect(pendingIdsAfter({ type: "forked", fork_id: "t" })).toEqual(["a"]);
  expect(pendingIdsAfter({ type: "event", event_id: "s:3:plan.drafted", session_id: "s" })).toEqual(["a", "b"]);
  expect(pendingIdsAfter({ type: "error", reply_to: null })).toEqual(["a", "b"]);
  expect(pendingIdsAfter({ type: "error", reply_to: "b", code: "unavailable" })).toEqual(["a", "b"]);
  expect(pendingIdsAfter({ type: "error", reply_to: "b", code: "slow_down" })).toEqual(["a", "b"]);
});

it("creates unique ids that the gateway accepts", () => {
  const newIds = new Set(Array.from({ length: 100 }, newId));
  expect(newIds.size).toBe(100);
  for (const id of newIds) expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
});

it("waits longer after each attempt, up to a limit, with jitter", () => {
  expect([0, 1, 2, 3].map((attempt) => backoff(attempt, 1))).toEqual([300, 600, 1200, 2400]);
  expect(backoff(50, 1)).toBe(15_000);
  expect(backoff(3, 0)).toBe(1200);
});
