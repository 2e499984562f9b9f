import { expect, it } from "vitest";
import { formatBytes, formatInline, formatPretty, splitCommonPrefix, truncate } from "./values";

it("pretty-prints JSON, also inside a string, and leaves other text unchanged", () => {
  expect(formatPretty('{"a": [1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
  expect(formatPretty("{not json")).toBe("{not json");
  expect(formatPretty("Error: user not found")).toBe("Error: user not found");
  expect(formatPretty({ a: 1 })).toBe('{\n  "a": 1\n}');
});

it("formats a value in one line", () => {
  expect(formatInline("x")).toBe("x");
  expect(formatInline(null)).toBe("–");
  expect(formatInline(["a", 1])).toBe('["a",1]');
  expect(formatInline({ zip: "1", floor: 2 })).toBe("zip: 1 · floor: 2");
  expect(formatInline({ deep: { zip: "1" } })).toBe('{"deep":{"zip":"1"}}');
});

it("truncates only long text", () => {
  const long = Array.from({ length: 100 }, (_, index) => `line ${index}`).join("\n");
  expect(truncate("short")).toBe("short");
  expect(truncate(long).split("\n")).toHaveLength(24);
  expect(truncate("x".repeat(9_000))).toHaveLength(3_000);
});

it("formats sizes in bytes, kB or MB", () => {
  expect([formatBytes(12), formatBytes(64_000), formatBytes(2_400_000)]).toEqual(["12 bytes", "64 kB", "2.4 MB"]);
});

it("extracts the common prefix of paths", () => {
  expect(splitCommonPrefix(["orders/#W1/status"])).toEqual({ common: "orders › #W1", names: ["status"] });
  expect(splitCommonPrefix(["orders/#W1/address/zip", "orders/#W1/status"])).toEqual({ common: "orders › #W1", names: ["address › zip", "status"] });
  expect(splitCommonPrefix(["orders/#W1", "users/ada/name"])).toEqual({ common: "", names: ["orders › #W1", "users › ada › name"] });
  expect(splitCommonPrefix([])).toEqual({ common: "", names: [] });
});
