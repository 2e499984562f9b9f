import { expect, it } from "vitest";
import { fieldsOf, filled } from "./fields";

const parameters = {
  type: "object",
  properties: {
    order_id: { type: "string", description: "With its #" },
    reason: { type: "string", enum: ["no longer needed", "ordered by mistake"] },
    item_ids: { type: "array", items: { type: "string" } },
    amount: { anyOf: [{ type: "number" }, { type: "null" }] },
    count: { type: ["integer", "null"] },
    gift: { type: "boolean" },
    address: { type: "object" },
  },
  required: ["order_id", "reason", "item_ids"],
};
const fields = fieldsOf(parameters);

it("finds the kind of every field", () => {
  expect(fields.map((one) => one.kind)).toEqual(["text", "choice", "list", "number", "integer", "flag", "json"]);
  expect(fields[0]).toMatchObject({ required: true, description: "With its #" });
  expect(fields[1]?.options).toEqual(["no longer needed", "ordered by mistake"]);
  expect(fieldsOf({})).toEqual([]);
});

it("makes arguments of what was filled in, and leaves out what is optional and empty", () => {
  const entered = { order_id: "#W1", reason: "no longer needed", item_ids: ["1", "2"], amount: "1.5", address: '{"zip": "1"}' };
  expect(filled(fields, entered)).toEqual({
    arguments: { order_id: "#W1", reason: "no longer needed", item_ids: ["1", "2"], amount: 1.5, address: { zip: "1" } },
    problems: {},
  });
});

it("says what is no argument", () => {
  const { problems } = filled(fields, { order_id: "", reason: "", item_ids: [], amount: "much", count: "1.5", address: "{" });
  expect(Object.keys(problems)).toEqual(["reason", "amount", "count", "address"]);
});
