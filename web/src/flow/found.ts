// What a path has found: the query's result, the SQL that made it, and how it is best drawn. Pure.
import type { ActionEntry } from "../journal/entries";
import { tableOf, type Table } from "../result/table";
import { split } from "./spec";

export interface Found {
  flows: readonly string[];
  sql: string;
  chart: string;
  /** What is at hand of the result; with `whole` the rest of it is kept apart. */
  table: Table | null;
  whole: { turn: number; actionId: string; size: number } | null;
}

/** By name, what the finished actions have made; of two values of one name the newer one. */
export function stateOf(actions: readonly ActionEntry[], flow: string): Record<string, unknown> {
  const state: Record<string, unknown> = {};
  for (const action of actions) if (action.state === "finished" && split(action.spec.tool)[0] === flow && isObject(action.result)) Object.assign(state, action.result);
  return state;
}

export function foundBy(actions: readonly ActionEntry[]): Found {
  const flows = [...new Set(actions.filter((one) => one.state === "finished").map((one) => split(one.spec.tool)[0]))];
  const state = Object.assign({}, ...flows.map((flow) => stateOf(actions, flow))) as Record<string, unknown>;
  const kept = actions.findLast((one) => one.state === "finished" && one.artefact);
  const table = tableOf(state.result);
  const [turn] = kept ? kept.spec.id.split(".") : [];
  return {
    flows,
    sql: typeof state.sql === "string" && (table || kept) ? state.sql : "",
    chart: typeof state.chart === "string" ? state.chart : "none",
    table,
    whole: kept?.artefact && !table ? { turn: Number(turn), actionId: kept.spec.id, size: kept.artefact.size } : null,
  };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
