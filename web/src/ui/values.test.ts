import { expect, it } from "vitest";
import { beginning, bytes, gist, inline, pretty, underOne } from "./values";

it("shows JSON in a string as what it says, and leaves the rest alone", () => {
  expect(pretty('{"a": [1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
  expect(pretty("{not json")).toBe("{not json");
  expect(pretty("Error: user not found")).toBe("Error: user not found");
  expect(pretty({ a: 1 })).toBe('{\n  "a": 1\n}');
});

it("puts a value into one line", () => {
  expect(inline("x")).toBe("x");
  expect(inline(null)).toBe("–");
  expect(inline(["a", 1])).toBe('["a",1]');
  expect(inline({ zip: "1", floor: 2 })).toBe("zip: 1 · floor: 2");
  expect(inline({ deep: { zip: "1" } })).toBe('{"deep":{"zip":"1"}}');
});

it("says in a line what an outcome comes to", () => {
  expect(gist("one\n  two")).toBe("one two");
  expect(gist('{"order_id": "#W1", "items": [1], "status": "cancelled"}')).toBe("order_id: #W1 · status: cancelled");
  expect(gist('{"items": [1]}')).toBe('{"items":[1]}');
  expect(gist("[1, 2]")).toBe("2 in all: [1,2]");
});

it("shortens only what is long", () => {
  const long = Array.from({ length: 100 }, (_, index) => `line ${index}`).join("\n");
  expect(beginning("short")).toBe("short");
  expect(beginning(long).split("\n")).toHaveLength(24);
  expect(beginning("x".repeat(9_000))).toHaveLength(3_000);
});

it("says sizes in words", () => {
  expect([bytes(12), bytes(64_000), bytes(2_400_000)]).toEqual(["12 bytes", "64 kB", "2.4 MB"]);
});

it("names what paths have in common once", () => {
  expect(underOne(["orders/#W1/status"])).toEqual({ common: "orders › #W1", names: ["status"] });
  expect(underOne(["orders/#W1/address/zip", "orders/#W1/status"])).toEqual({ common: "orders › #W1", names: ["address › zip", "status"] });
  expect(underOne(["orders/#W1", "users/ada/name"])).toEqual({ common: "", names: ["orders › #W1", "users › ada › name"] });
  expect(underOne([])).toEqual({ common: "", names: [] });
});
