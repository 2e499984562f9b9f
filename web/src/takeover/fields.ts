// Form fields from a tool's JSON schema, and arguments from the fields. Pure.
import { isObject } from "../ui/values";

type FieldKind = "text" | "number" | "integer" | "choice" | "list" | "flag" | "json";

export interface Field {
  name: string;
  kind: FieldKind;
  required: boolean;
  description: string;
  /** The options of a choice. */
  options: readonly unknown[];
  /** The item type of a list. */
  items: "text" | "number" | "integer";
  /** The schema's default value. */
  defaultValue: unknown;
}

/** The content of a field. */
export type FieldValue = string | boolean | string[];

type Schema = Record<string, unknown>;

/** The name of the field for arguments that the schema allows but does not name. */
export const ADDITIONAL = "";

export function fieldsOf(parameters: Schema): Field[] {
  const required = new Set(Array.isArray(parameters.required) ? parameters.required : []);
  const properties = (parameters.properties ?? {}) as Record<string, Schema>;
  const fields = Object.entries(properties).map(([name, schema]): Field => {
    const description = typeof schema.description === "string" ? schema.description : "";
    return { name, ...kindOf(resolved(schema, parameters)), required: required.has(name), description, defaultValue: schema.default };
  });
  const additional = parameters.additionalProperties;
  const hasAdditional = additional === undefined ? fields.length === 0 && parameters.properties === undefined : additional !== false;
  return hasAdditional ? [...fields, { name: ADDITIONAL, ...kindOf({}), required: false, description: "", defaultValue: undefined }] : fields;
}

/** The schema to fill in: the first non-null alternative, with references inside the schema resolved. */
function resolved(schema: Schema, root: Schema, depth = 0): Schema {
  const alternatives = (schema.anyOf ?? schema.oneOf ?? schema.allOf) as Schema[] | undefined;
  const chosen = alternatives?.find((alternative) => alternative.type !== "null") ?? schema;
  const reference = typeof chosen.$ref === "string" ? /^#\/(\$defs|definitions)\/([^/]+)$/.exec(chosen.$ref) : null;
  const target = reference && ((root[reference[1] ?? ""] ?? {}) as Record<string, Schema>)[reference[2] ?? ""];
  return (target || chosen !== schema) && depth < 8 ? resolved(target || chosen, root, depth + 1) : schema;
}

function kindOf(schema: Schema): Pick<Field, "kind" | "options" | "items"> {
  const none = { options: [], items: "text" } as const;
  const options = Array.isArray(schema.enum) ? schema.enum : "const" in schema ? [schema.const] : null;
  if (options?.every((option) => typeof option !== "object")) return { ...none, kind: "choice", options };
  const type = typeOf(schema);
  if (type === "string") return { ...none, kind: "text" };
  if (type === "number" || type === "integer") return { ...none, kind: type };
  if (type === "boolean") return { ...none, kind: "flag" };
  const items = type === "array" ? typeOf((schema.items ?? {}) as Schema) : null;
  if (items === "string") return { ...none, kind: "list" };
  if (items === "number" || items === "integer") return { ...none, kind: "list", items };
  return { ...none, kind: "json" };
}

function typeOf({ type }: Schema): unknown {
  return Array.isArray(type) ? type.find((name) => name !== "null") : type;
}

/** The initial content of a field. */
export function emptyValue(field: Field): FieldValue {
  if (field.kind === "list") return [];
  if (field.kind === "flag") return field.defaultValue === true;
  return field.kind === "choice" && field.options.includes(field.defaultValue) ? String(field.defaultValue) : "";
}

/** The field contents for these arguments. */
export function toFieldValues(fields: readonly Field[], args: Record<string, unknown>): Record<string, FieldValue> {
  const others = Object.entries(args).filter(([name]) => !fields.some((field) => field.name === name));
  const values: Record<string, unknown> = { ...args, [ADDITIONAL]: others.length ? Object.fromEntries(others) : undefined };
  return Object.fromEntries(fields.map((field) => [field.name, toFieldValue(field, values[field.name])]));
}

function toFieldValue(field: Field, value: unknown): FieldValue {
  if (value === undefined || value === null) return emptyValue(field);
  if (field.kind === "flag" && typeof value === "boolean") return value;
  if (field.kind === "list" && Array.isArray(value) && value.every((item) => typeof item !== "object")) return value.map(String);
  if (typeof value === "string" && (field.kind !== "json" || isReference(value))) return value;
  return JSON.stringify(value, null, 1);
}

/** The whole text is one reference to a step's output, which can stand for a value of any type. */
const isReference = (value: FieldValue): value is string => typeof value === "string" && /^\s*{{[^{}]*}}\s*$/.test(value);

interface ParsedFields {
  arguments: Record<string, unknown>;
  /** By field: why its content is not a valid argument. */
  problems: Record<string, string>;
}

/** Omits optional fields that are empty or unchanged. An empty required text counts as a value. */
export function parseFields(fields: readonly Field[], values: Record<string, FieldValue>): ParsedFields {
  const parsed: ParsedFields = { arguments: {}, problems: {} };
  for (const field of fields) {
    const value = values[field.name] ?? emptyValue(field);
    if (!field.required && (value === "" || String(value) === String(emptyValue(field)))) continue;
    const result = parseValue(field, value);
    if ("problem" in result) parsed.problems[field.name] = result.problem;
    else if (field.name === ADDITIONAL) Object.assign(parsed.arguments, result.value);
    else parsed.arguments[field.name] = result.value;
  }
  return parsed;
}

/** The names of required fields that are empty. */
export function missingFields(fields: readonly Field[], values: Record<string, FieldValue>): string[] {
  return fields.filter((field) => field.required && (values[field.name] ?? emptyValue(field)) === "").map(({ name }) => name);
}

type ParsedValue = { value: unknown } | { problem: string };

function parseValue(field: Field, value: FieldValue): ParsedValue {
  if (typeof value === "boolean") return { value };
  if (typeof value !== "string") return parseList(field, value);
  if (isReference(value) && field.name !== ADDITIONAL) return { value: value.trim() };
  switch (field.kind) {
    case "number":
    case "integer":
      return parseNumber(field.kind, value);
    case "choice": {
      const chosen = field.options.find((option) => String(option) === value);
      return chosen === undefined ? { problem: "Choose one." } : { value: chosen };
    }
    case "list":
    case "flag":
      return parseJson(value);
    case "json": {
      const parsed = parseJson(value);
      return field.name !== ADDITIONAL || "problem" in parsed || isObject(parsed.value) ? parsed : { problem: "Enter a JSON object." };
    }
    default:
      return { value };
  }
}

function parseList(field: Field, value: readonly string[]): ParsedValue {
  const { items } = field;
  if (items === "text") return { value };
  const parsed = value.map((item) => (isReference(item) ? { value: item.trim() } : parseNumber(items, item)));
  return parsed.find((input) => "problem" in input) ?? { value: parsed.map((input) => "value" in input && input.value) };
}

function parseNumber(kind: "number" | "integer", text: string): ParsedValue {
  const number = Number(text);
  const isValid = kind === "number" || Number.isInteger(number);
  return text.trim() && Number.isFinite(number) && isValid ? { value: number } : { problem: kind === "integer" ? "Enter a whole number." : "Enter a number." };
}

function parseJson(text: string): ParsedValue {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { problem: "This is not valid JSON." };
  }
}
