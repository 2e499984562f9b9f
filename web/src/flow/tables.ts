// The form of the question about tables. Pure.
import { isObject } from "../ui/values";

export interface TableChoice {
  name: string;
  reason: string;
  chosen: boolean;
  columns: readonly string[];
}

/** The tables of a question's form, proposed ones first; null if the form asks for something else. */
export function tablesOf(form: unknown): TableChoice[] | null {
  if (!isObject(form) || form.kind !== "tables" || !Array.isArray(form.tables)) return null;
  const choices = form.tables.filter(isObject).map(
    (table): TableChoice => ({
      name: String(table.name ?? ""),
      reason: typeof table.reason === "string" ? table.reason : "",
      chosen: table.chosen === true,
      columns: Array.isArray(table.columns) ? table.columns.map(String) : [],
    }),
  );
  return choices.toSorted((a, b) => Number(b.chosen) - Number(a.chosen));
}

/** The tables whose name, reason or columns contain all words of the query. */
export function filterTables(tables: readonly TableChoice[], query: string): readonly TableChoice[] {
  const terms = query.toLowerCase().split(/\s+/).filter(Boolean);
  return tables.filter((table) => {
    const text = [table.name, table.reason, ...table.columns].join(" ").toLowerCase();
    return terms.every((term) => text.includes(term));
  });
}

export const tablesAnswer = (names: readonly string[]): string => JSON.stringify({ tables: names });
