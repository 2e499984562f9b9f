import { expect, it } from "vitest";
import { commandBytes, formatKib, jsonBytes, messageLimit } from "./frame";

it("measures the bytes that go over the wire, not characters", () => {
  expect([jsonBytes("abc"), jsonBytes("漢"), jsonBytes("🚀"), jsonBytes('"\n'), jsonBytes("ש")]).toEqual([5, 5, 6, 6, 4]);
  const request = (letter: string, count: number) => commandBytes({ type: "user_message", content: "sum", knowledge: Array.from({ length: count }, () => ({ name: "n", text: letter.repeat(49_000) })) });
  expect([request("a", 5), request("a", 6), request("漢", 1), request("漢", 2), request("🚀", 2)].map((bytes) => bytes > messageLimit(null))).toEqual([false, true, false, true, true]);
});

it("takes the limit from the gateway's greeting", () => {
  expect([messageLimit({ max_message_bytes: 1000 }), messageLimit({}), messageLimit(null)]).toEqual([1000, 262_144, 262_144]);
  expect(formatKib(262_145)).toBe("257 KiB");
});
