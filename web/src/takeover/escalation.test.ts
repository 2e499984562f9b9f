import { expect, it } from "vitest";
import type { SessionEvent } from "../protocol";
import { escalation } from "./escalation";

const of = (...events: object[]) => escalation(events as SessionEvent[]);
const turn = (number: number, actor: string) => ({ type: actor === "planner" ? "turn.planned" : "turn.requested", turn: number, actor });
const verdict = (number: number, next_action: string, reasoning: string) => ({ type: "turn.verified", turn: number, next_action, reasoning });

it("tells why a person is needed", () => {
  expect(of(turn(1, "planner"), verdict(1, "escalate", "The card is unknown."))).toEqual({ why: "The card is unknown.", mine: false });
});

it("still tells after the person has acted, and does not take their own turn's verdict for it", () => {
  const events = [turn(1, "planner"), verdict(1, "escalate", "The card is unknown."), turn(2, "user:ada"), verdict(2, "complete", "It is done.")];
  expect(of(...events)).toEqual({ why: "The card is unknown.", mine: true });
});
