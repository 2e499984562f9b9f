import { describe, expect, it } from "vitest";
import { places } from "./lanes";

const step = (id: string, ...needs: string[]) => ({ id, needs });

describe("the lines between steps", () => {
  it("run straight down a chain", () => {
    expect(places([step("a"), step("b", "a"), step("c", "b")])).toEqual([
      { lane: 0, passing: [], from: [], on: true },
      { lane: 0, passing: [], from: [0], on: true },
      { lane: 0, passing: [], from: [0], on: false },
    ]);
  });

  it("part for steps side by side, and meet again", () => {
    expect(places([step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c")])).toEqual([
      { lane: 0, passing: [], from: [], on: true },
      { lane: 1, passing: [0], from: [0], on: true },
      { lane: 0, passing: [1], from: [0], on: true },
      { lane: 0, passing: [], from: [0, 1], on: false },
    ]);
  });

  it("pass by steps that have nothing to do with them", () => {
    expect(places([step("a"), step("b"), step("c", "a")])).toEqual([
      { lane: 0, passing: [], from: [], on: true },
      { lane: 1, passing: [0], from: [], on: false },
      { lane: 0, passing: [], from: [0], on: false },
    ]);
  });

  it("lead from no step that is not there, or stands below", () => {
    expect(places([step("a", "b", "z"), step("b")])).toEqual([
      { lane: 0, passing: [], from: [], on: false },
      { lane: 0, passing: [], from: [], on: false },
    ]);
  });
});
