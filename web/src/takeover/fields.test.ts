import { expect, it } from "vitest";
import { fieldsOf, missingFields, parseFields, toFieldValues } from "./fields";

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

it("derives each field's kind, options and description from the schema", () => {
  expect(fields.map((field) => field.kind)).toEqual(["text", "choice", "list", "number", "integer", "flag", "json"]);
  expect(fields[0]).toMatchObject({ required: true, description: "With its #" });
  expect(fields[1]?.options).toEqual(["no longer needed", "ordered by mistake"]);
  expect(fieldsOf({ properties: {}, type: "object" })).toEqual([]);
});

it("builds arguments from the fields, and omits empty optional ones", () => {
  const values = { order_id: "#W1", reason: "no longer needed", item_ids: ["1", "2"], amount: "1.5", address: '{"zip": "1"}' };
  expect(parseFields(fields, values)).toEqual({
    arguments: { order_id: "#W1", reason: "no longer needed", item_ids: ["1", "2"], amount: 1.5, address: { zip: "1" } },
    problems: {},
  });
});

it("reports each field whose value is invalid", () => {
  const { problems } = parseFields(fields, { order_id: "", reason: "", item_ids: [], amount: "much", count: "1.5", address: "{" });
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

it("follows references inside the schema, and stops at cycles", () => {
  const kinds = fieldsOf(nested).map(({ kind }) => kind);
  expect(kinds).toEqual(["choice", "choice", "choice", "list", "flag", "json", "json"]);
});

it("keeps numbers as numbers, and omits default values", () => {
  const entered = { kind: "b", level: "2", sizes: ["4", "5"], loud: true };
  expect(parseFields(fieldsOf(nested), entered)).toEqual({ arguments: { kind: "b", sizes: [4, 5] }, problems: {} });
  expect(parseFields(fieldsOf(nested), { ...entered, level: "1", loud: false }).arguments).toMatchObject({ level: 1, loud: false });
  expect(parseFields(fieldsOf(nested), { ...entered, sizes: ["4", "many"] }).problems).toEqual({ sizes: "Enter a whole number." });
});

it("accepts a reference to a step's output in any field, alone or in a list", () => {
  const reference = "{{steps.s1.output.size}}";
  const values = Object.fromEntries(fieldsOf(nested).map(({ name }) => [name, reference]));
  expect(parseFields(fieldsOf(nested), values)).toEqual({ arguments: values, problems: {} });
  expect(parseFields(fieldsOf(nested), { kind: "a", sizes: [reference, "1"] }).arguments.sizes).toEqual([reference, 1]);
  expect(Object.keys(parseFields(fieldsOf(nested), { kind: "{{steps.s1", sizes: "[1" }).problems)).toEqual(["kind", "sizes"]);
});

it("fills the fields from arguments, and builds the same arguments from them", () => {
  const args = { kind: "a", sizes: [1, 2], place: { zip: "1" }, loud: false, level: "{{steps.s1.output}}" };
  const entered = toFieldValues(fieldsOf(nested), args);
  expect(entered).toMatchObject({ kind: "a", sizes: ["1", "2"], loud: false, only: "" });
  expect(parseFields(fieldsOf(nested), entered)).toEqual({ arguments: args, problems: {} });
});

it("has one field for arguments that the schema allows but does not name", () => {
  const open = fieldsOf({ type: "object" });
  expect(open).toMatchObject([{ name: "", kind: "json" }]);
  const entered = toFieldValues(open, { sql: "SELECT 1" });
  expect(parseFields(open, entered).arguments).toEqual({ sql: "SELECT 1" });
  expect(parseFields(open, { "": "[1]" }).problems).toEqual({ "": "Enter a JSON object." });
});

it("reports missing required texts, numbers and choices, but not flags that are off", () => {
  const form = fieldsOf({
    type: "object",
    properties: { city: { type: "string" }, boxes: { type: "integer" }, gift: { type: "boolean" }, carrier: { enum: ["UPS", "DHL"], default: "DHL" }, note: { type: "string" } },
    required: ["city", "boxes", "gift", "carrier"],
  });
  expect(missingFields(form, {})).toEqual(["city", "boxes"]);
  expect(missingFields(form, { city: "Oslo", boxes: "2" })).toEqual([]);
  expect(parseFields(form, { city: "Oslo", boxes: "2" }).arguments).toEqual({ city: "Oslo", boxes: 2, gift: false, carrier: "DHL" });
});
