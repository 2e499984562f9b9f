// The question which tables to use, as the flow asks it. Pure.
import { TABLES } from "../generated/words";
import { isObject } from "./found";

/** What is asked: the form says the rest better than the words that were written for those who have none. */
export const ASKED = TABLES.ask;

export interface TableChoice {
  name: string;
  reason: string;
  chosen: boolean;
  columns: readonly string[];
}

/** The tables of a question's form, those that were proposed first; null if it asks for something else. */
export function tablesOf(form: unknown): TableChoice[] | null {
  if (!isObject(form) || form.kind !== "tables" || !Array.isArray(form.tables)) return null;
  const all = form.tables.filter(isObject).map(
    (one): TableChoice => ({
      name: String(one.name ?? ""),
      reason: typeof one.reason === "string" ? one.reason : "",
      chosen: one.chosen === true,
      columns: Array.isArray(one.columns) ? one.columns.map(String) : [],
    }),
  );
  return all.toSorted((a, b) => Number(b.chosen) - Number(a.chosen));
}

/** Those that hold all the words, in their name, reason or columns. */
export function filtered(tables: readonly TableChoice[], query: string): readonly TableChoice[] {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  return tables.filter((one) => {
    const text = [one.name, one.reason, ...one.columns].join(" ").toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

export const answerOf = (names: readonly string[]): string => JSON.stringify({ tables: names });
