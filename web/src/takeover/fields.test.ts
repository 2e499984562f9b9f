import { expect, it } from "vitest";
import { enteredFor, fieldsOf, filled, unfilled } from "./fields";

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
  expect(fieldsOf({ properties: {}, type: "object" })).toEqual([]);
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

const nested = {
  properties: {
    kind: { $ref: "#/$defs/Kind" },
    level: { enum: [1, 2], default: 2 },
    only: { const: "x" },
    sizes: { type: "array", items: { type: "integer" } },
    loud: { type: "boolean", default: true },
    place: { anyOf: [{ $ref: "#/$defs/Place" }, { type: "null" }], default: null },
    round: { $ref: "#/$defs/Round" },
  },
  required: ["kind", "sizes"],
  $defs: { Kind: { enum: ["a", "b"] }, Place: { type: "object" }, Round: { $ref: "#/$defs/Round" } },
};

it("follows references inside of the schema, and is not led in circles", () => {
  const kinds = fieldsOf(nested).map(({ kind }) => kind);
  expect(kinds).toEqual(["choice", "choice", "choice", "list", "flag", "json", "json"]);
});

it("gives back numbers as numbers, and leaves out what is as it is by default", () => {
  const entered = { kind: "b", level: "2", sizes: ["4", "5"], loud: true };
  expect(filled(fieldsOf(nested), entered)).toEqual({ arguments: { kind: "b", sizes: [4, 5] }, problems: {} });
  expect(filled(fieldsOf(nested), { ...entered, level: "1", loud: false }).arguments).toMatchObject({ level: 1, loud: false });
  expect(filled(fieldsOf(nested), { ...entered, sizes: ["4", "many"] }).problems).toEqual({ sizes: "A whole number, please." });
});

it("takes a reference to what a step gives in any field, alone or in a list", () => {
  const reference = "{{steps.s1.output.size}}";
  const all = Object.fromEntries(fieldsOf(nested).map(({ name }) => [name, reference]));
  expect(filled(fieldsOf(nested), all)).toEqual({ arguments: all, problems: {} });
  expect(filled(fieldsOf(nested), { kind: "a", sizes: [reference, "1"] }).arguments.sizes).toEqual([reference, 1]);
  expect(Object.keys(filled(fieldsOf(nested), { kind: "{{steps.s1", sizes: "[1" }).problems)).toEqual(["kind", "sizes"]);
});

it("shows the arguments of a step as they would be filled in, and gives back the same", () => {
  const given = { kind: "a", sizes: [1, 2], place: { zip: "1" }, loud: false, level: "{{steps.s1.output}}" };
  const entered = enteredFor(fieldsOf(nested), given);
  expect(entered).toMatchObject({ kind: "a", sizes: ["1", "2"], loud: false, only: "" });
  expect(filled(fieldsOf(nested), entered)).toEqual({ arguments: given, problems: {} });
});

it("has one field for all that the schema allows without naming it", () => {
  const open = fieldsOf({ type: "object" });
  expect(open).toMatchObject([{ name: "", kind: "json" }]);
  const entered = enteredFor(open, { sql: "SELECT 1" });
  expect(filled(open, entered).arguments).toEqual({ sql: "SELECT 1" });
  expect(filled(open, { "": "[1]" }).problems).toEqual({ "": "An object in JSON, please." });
});

it("misses required texts, numbers and choices, and no flag that is off", () => {
  const form = fieldsOf({
    type: "object",
    properties: { city: { type: "string" }, boxes: { type: "integer" }, gift: { type: "boolean" }, carrier: { enum: ["UPS", "DHL"], default: "DHL" }, note: { type: "string" } },
    required: ["city", "boxes", "gift", "carrier"],
  });
  expect(unfilled(form, {})).toEqual(["city", "boxes"]);
  expect(unfilled(form, { city: "Oslo", boxes: "2" })).toEqual([]);
  expect(filled(form, { city: "Oslo", boxes: "2" }).arguments).toEqual({ city: "Oslo", boxes: 2, gift: false, carrier: "DHL" });
});
