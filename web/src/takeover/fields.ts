// A tool's JSON schema as the fields of a form, and what is in the form as arguments. Pure.

export type Kind = "text" | "number" | "integer" | "choice" | "list" | "flag" | "json";

export interface Field {
  name: string;
  kind: Kind;
  required: boolean;
  description: string;
  options: string[];
}

/** What a field holds while it is filled in. */
export type Entered = string | boolean | string[];

type Schema = Record<string, unknown>;

export function fieldsOf(parameters: Schema): Field[] {
  const required = new Set(Array.isArray(parameters.required) ? parameters.required : []);
  return Object.entries((parameters.properties ?? {}) as Record<string, Schema>).map(([name, schema]) => ({
    name,
    ...kindOf(meant(schema)),
    required: required.has(name),
    description: typeof schema.description === "string" ? schema.description : "",
  }));
}

/** Of alternatives the first that is not null: what one fills in. */
function meant(schema: Schema): Schema {
  const alternatives = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
  return alternatives?.find((one) => one.type !== "null") ?? schema;
}

function kindOf(schema: Schema): { kind: Kind; options: string[] } {
  const none = { options: [] };
  if (Array.isArray(schema.enum) && schema.enum.every((one) => typeof one === "string")) return { kind: "choice", options: schema.enum };
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type;
  if (type === "string") return { kind: "text", ...none };
  if (type === "number" || type === "integer") return { kind: type, ...none };
  if (type === "boolean") return { kind: "flag", ...none };
  if (type === "array" && (schema.items as Schema | undefined)?.type === "string") return { kind: "list", ...none };
  return { kind: "json", ...none };
}

export function emptyOf(field: Field): Entered {
  return field.kind === "list" ? [] : field.kind === "flag" ? false : "";
}

export interface Filled {
  arguments: Record<string, unknown>;
  /** By field: why its content is no argument. */
  problems: Record<string, string>;
}

/** Optional fields that are empty are left out; an empty text that is required is a text too. */
export function filled(fields: readonly Field[], entered: Record<string, Entered>): Filled {
  const result: Filled = { arguments: {}, problems: {} };
  for (const field of fields) {
    const value = entered[field.name] ?? emptyOf(field);
    if (!field.required && (value === "" || value === false || (Array.isArray(value) && value.length === 0))) continue;
    const read = valueOf(field, value);
    if ("problem" in read) result.problems[field.name] = read.problem;
    else result.arguments[field.name] = read.value;
  }
  return result;
}

function valueOf(field: Field, value: Entered): { value: unknown } | { problem: string } {
  if (typeof value !== "string") return { value };
  switch (field.kind) {
    case "number":
    case "integer": {
      const number = Number(value);
      const whole = field.kind === "number" || Number.isInteger(number);
      return value.trim() && Number.isFinite(number) && whole ? { value: number } : { problem: field.kind === "integer" ? "A whole number, please." : "A number, please." };
    }
    case "choice":
      return value ? { value } : { problem: "Choose one." };
    case "json":
      return parsed(value);
    default:
      return { value };
  }
}

function parsed(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { problem: "This is no JSON." };
  }
}
