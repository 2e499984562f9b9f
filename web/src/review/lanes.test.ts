import { describe, expect, it } from "vitest";
import { layoutLanes } from "./lanes";

const step = (id: string, ...needs: string[]) => ({ id, needs });

describe("lanes of plan steps", () => {
  it("run straight down a chain", () => {
    expect(layoutLanes([step("a"), step("b", "a"), step("c", "b")])).toEqual([
      { lane: 0, passing: [], from: [], continues: true },
      { lane: 0, passing: [], from: [0], continues: true },
      { lane: 0, passing: [], from: [0], continues: false },
    ]);
  });

  it("split for parallel steps, and join again", () => {
    expect(layoutLanes([step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c")])).toEqual([
      { lane: 0, passing: [], from: [], continues: true },
      { lane: 1, passing: [0], from: [0], continues: true },
      { lane: 0, passing: [1], from: [0], continues: true },
      { lane: 0, passing: [], from: [0, 1], continues: false },
    ]);
  });

  it("pass steps that are unrelated", () => {
    expect(layoutLanes([step("a"), step("b"), step("c", "a")])).toEqual([
      { lane: 0, passing: [], from: [], continues: true },
      { lane: 1, passing: [0], from: [], continues: false },
      { lane: 0, passing: [], from: [0], continues: false },
    ]);
  });

  it("ignore missing steps and steps further down", () => {
    expect(layoutLanes([step("a", "b", "z"), step("b")])).toEqual([
      { lane: 0, passing: [], from: [], continues: false },
      { lane: 0, passing: [], from: [], continues: false },
    ]);
  });
});
