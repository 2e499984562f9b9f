import { describe, expect, it } from "vitest";
import { layoutLanes } from "./lanes";

const step = (id: string, ...needs: string[]) => ({ id, needs });

describe("lanes of plan steps", () => {
  it("stay the same along a chain of steps", () => {
    expect(layoutLanes([step("a"), step("b", "a"), step("c", "b")])).toEqual([
      { lane: 0, passing: [], from: [], continues: true },
      { lane: 0, passing: [], from: [0], continues: true },
      { lane: 0, passing: [], from: [0], continues: false },
    ]);
  });

  it("split for parallel steps, and join at a step that depends on both", () => {
    expect(layoutLanes([step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c")])).toEqual([
      { lane: 0, passing: [], from: [], continues: true },
      { lane: 1, passing: [0], from: [0], continues: true },
      { lane: 0, passing: [1], from: [0], continues: true },
      { lane: 0, passing: [], from: [0, 1], continues: false },
    ]);
  });

  it("pass beside unrelated steps", () => {
    expect(layoutLanes([step("a"), step("b"), step("c", "a")])).toEqual([
      { lane: 0, passing: [], from: [], continues: true },
      { lane: 1, passing: [0], from: [], continues: false },
      { lane: 0, passing: [], from: [0], continues: false },
    ]);
  });

  it("ignore dependencies on missing steps and on steps further down", () => {
    expect(layoutLanes([step("a", "b", "z"), step("b")])).toEqual([
      { lane: 0, passing: [], from: [], continues: false },
      { lane: 0, passing: [], from: [], continues: false },
    ]);
  });
});
