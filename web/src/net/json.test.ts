import { expect, it } from "vitest";
import { parseJson } from "./json";

it("keeps all digits of numbers that a double cannot hold", () => {
  expect(parseJson('{"id": 12345678901234567891, "list": [-9007199254740993, 1e400], "12345678901234567891": "\\"12345678901234567891"}')).toEqual({ id: "12345678901234567891", list: ["-9007199254740993", "1e400"], "12345678901234567891": '"12345678901234567891' });
});

it("leaves all other numbers and texts as they are", () => {
  const values = [0, -5, 9007199254740991, 19.989999771118164, 4e-7, 9007199254740992, "12345678901234567891", null, true];
  expect(parseJson(JSON.stringify(values))).toEqual(values);
});
