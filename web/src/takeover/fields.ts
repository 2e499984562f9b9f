// A tool's JSON schema as the fields of a form, and what is in the form as arguments. Pure.

export type Kind = "text" | "number" | "integer" | "choice" | "list" | "flag" | "json";

export interface Field {
  name: string;
  kind: Kind;
  required: boolean;
  description: string;
  /** Of a choice: what can be chosen. */
  options: readonly unknown[];
  /** Of a list: what it holds. */
  items: "text" | "number" | "integer";
  /** What holds where nothing is given. */
  byDefault: unknown;
}

/** What a field holds while it is filled in. */
export type Entered = string | boolean | string[];

type Schema = Record<string, unknown>;

/** The name of the field for what the schema allows and does not name. */
export const OTHER = "";

export function fieldsOf(parameters: Schema): Field[] {
  const required = new Set(Array.isArray(parameters.required) ? parameters.required : []);
  const properties = (parameters.properties ?? {}) as Record<string, Schema>;
  const fields = Object.entries(properties).map(([name, schema]): Field => {
    const description = typeof schema.description === "string" ? schema.description : "";
    return { name, ...kindOf(meant(schema, parameters)), required: required.has(name), description, byDefault: schema.default };
  });
  const open = parameters.additionalProperties;
  const more = open === undefined ? fields.length === 0 && parameters.properties === undefined : open !== false;
  return more ? [...fields, { name: OTHER, ...kindOf({}), required: false, description: "", byDefault: undefined }] : fields;
}

/** What one fills in: of alternatives the first that is not null, and what a reference inside of the schema stands for. */
function meant(schema: Schema, whole: Schema, depth = 0): Schema {
  const alternatives = (schema.anyOf ?? schema.oneOf ?? schema.allOf) as Schema[] | undefined;
  const chosen = alternatives?.find((one) => one.type !== "null") ?? schema;
  const named = typeof chosen.$ref === "string" ? /^#\/(\$defs|definitions)\/([^/]+)$/.exec(chosen.$ref) : null;
  const found = named && ((whole[named[1] ?? ""] ?? {}) as Record<string, Schema>)[named[2] ?? ""];
  return (found || chosen !== schema) && depth < 8 ? meant(found || chosen, whole, depth + 1) : schema;
}

function kindOf(schema: Schema): Pick<Field, "kind" | "options" | "items"> {
  const none = { options: [], items: "text" } as const;
  const options = Array.isArray(schema.enum) ? schema.enum : "const" in schema ? [schema.const] : null;
  if (options?.every((one) => typeof one !== "object")) return { ...none, kind: "choice", options };
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
  return Array.isArray(type) ? type.find((one) => one !== "null") : type;
}

/** What a field holds before anybody touches it. */
export function emptyOf(field: Field): Entered {
  if (field.kind === "list") return [];
  if (field.kind === "flag") return field.byDefault === true;
  return field.kind === "choice" && field.options.includes(field.byDefault) ? String(field.byDefault) : "";
}

/** What the fields hold for these arguments. */
export function enteredFor(fields: readonly Field[], given: Record<string, unknown>): Record<string, Entered> {
  const others = Object.entries(given).filter(([name]) => !fields.some((field) => field.name === name));
  const all: Record<string, unknown> = { ...given, [OTHER]: others.length ? Object.fromEntries(others) : undefined };
  return Object.fromEntries(fields.map((field) => [field.name, enteredOf(field, all[field.name])]));
}

function enteredOf(field: Field, value: unknown): Entered {
  if (value === undefined || value === null) return emptyOf(field);
  if (field.kind === "flag" && typeof value === "boolean") return value;
  if (field.kind === "list" && Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.map(String);
  if (typeof value === "string" && (field.kind !== "json" || isReference(value))) return value;
  return JSON.stringify(value, null, 1);
}

/** The whole text is one reference to what a step gives: it stands for a value of whatever kind that is. */
export const isReference = (value: Entered): value is string => typeof value === "string" && /^\s*{{[^{}]*}}\s*$/.test(value);

export interface Filled {
  arguments: Record<string, unknown>;
  /** By field: why its content is no argument. */
  problems: Record<string, string>;
}

/** What is optional and as it was at first is left out; an empty text that is required is a text too. */
export function filled(fields: readonly Field[], entered: Record<string, Entered>): Filled {
  const result: Filled = { arguments: {}, problems: {} };
  for (const field of fields) {
    const value = entered[field.name] ?? emptyOf(field);
    if (!field.required && (value === "" || String(value) === String(emptyOf(field)))) continue;
    const read = valueOf(field, value);
    if ("problem" in read) result.problems[field.name] = read.problem;
    else if (field.name === OTHER) Object.assign(result.arguments, read.value);
    else result.arguments[field.name] = read.value;
  }
  return result;
}

/** The names of the required fields that nothing was written into. */
export function unfilled(fields: readonly Field[], entered: Record<string, Entered>): string[] {
  return fields.filter((field) => field.required && (entered[field.name] ?? emptyOf(field)) === "").map(({ name }) => name);
}

type Value = { value: unknown } | { problem: string };

function valueOf(field: Field, value: Entered): Value {
  if (typeof value === "boolean") return { value };
  if (typeof value !== "string") return listOf(field, value);
  if (isReference(value) && field.name !== OTHER) return { value: value.trim() };
  switch (field.kind) {
    case "number":
    case "integer":
      return numberOf(field.kind, value);
    case "choice": {
      const chosen = field.options.find((one) => String(one) === value);
      return chosen === undefined ? { problem: "Choose one." } : { value: chosen };
    }
    case "list":
    case "flag":
      return parsed(value);
    case "json": {
      const read = parsed(value);
      return field.name !== OTHER || "problem" in read || isPlainObject(read.value) ? read : { problem: "An object in JSON, please." };
    }
    default:
      return { value };
  }
}

function listOf(field: Field, value: readonly string[]): Value {
  const { items } = field;
  if (items === "text") return { value };
  const read = value.map((one) => (isReference(one) ? { value: one.trim() } : numberOf(items, one)));
  return read.find((one) => "problem" in one) ?? { value: read.map((one) => "value" in one && one.value) };
}

function numberOf(kind: "number" | "integer", text: string): Value {
  const number = Number(text);
  const whole = kind === "number" || Number.isInteger(number);
  return text.trim() && Number.isFinite(number) && whole ? { value: number } : { problem: kind === "integer" ? "A whole number, please." : "A number, please." };
}

function parsed(text: string): Value {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { problem: "This is no JSON." };
  }
}

function isPlainObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
