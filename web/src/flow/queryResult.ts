// The outcome of a path: the query's result, its SQL, and the chart to draw. Pure.
import type { EntryOf } from "../protocol";
import { type Table, tableOf } from "../result/table";
import { isObject } from "../ui/values";
import { splitTool } from "./spec";

/** An action of a path, with its result. */
type RanAction = Pick<EntryOf<"action">, "state" | "tool" | "action_id" | "artefact"> & { result?: unknown };

export interface QueryResult {
  flows: readonly string[];
  sql: string;
  chart: string;
  /** The loaded table; if `artefact` is set, the full result is in the object store. */
  table: Table | null;
  artefact: { turn: number; actionId: string; size: number } | null;
}

/** The outputs of the flow's finished actions, by name; newer values win. */
export function flowOutputs(actions: readonly RanAction[], flow: string): Record<string, unknown> {
  const outputs: Record<string, unknown> = {};
  for (const action of actions) if (action.state === "finished" && splitTool(action.tool)[0] === flow && isObject(action.result)) Object.assign(outputs, action.result);
  return outputs;
}

export function queryResultOf(actions: readonly RanAction[]): QueryResult {
  const flows = [...new Set(actions.filter((action) => action.state === "finished").map((action) => splitTool(action.tool)[0]))];
  const outputs = Object.assign({}, ...flows.map((flow) => flowOutputs(actions, flow))) as Record<string, unknown>;
  const stored = actions.findLast((action) => action.state === "finished" && action.artefact);
  const table = tableOf(outputs.result);
  const [turn] = stored ? stored.action_id.split(".") : [];
  return {
    flows,
    sql: typeof outputs.sql === "string" && (table || stored) ? outputs.sql : "",
    chart: typeof outputs.chart === "string" ? outputs.chart : "none",
    table,
    artefact: stored?.artefact && !table ? { turn: Number(turn), actionId: stored.action_id, size: stored.artefact.size } : null,
  };
}
