// The rest of a path while a person changes it. Pure operations on a list of tools "<flow>.<node>".
import { flowOf, type FlowSpec, nodeOf, split, toolOf } from "./spec";

export type Path = readonly string[];

/** What may stand at this place: what may follow the one before it, or any node of its flow where nothing is before. */
export function choices(flows: readonly FlowSpec[], path: Path, at: number, after: string): string[] {
  const before = at === 0 ? after : (path[at - 1] ?? "");
  const [flowBefore, node] = split(before);
  const [name] = split(path[at] ?? before);
  const flow = flowOf(flows, name);
  if (!flow) return [];
  const next = flowBefore === name ? nodeOf(flow, node)?.possible_next_nodes : undefined;
  const names = next ?? flow.nodes.map((one) => one.name);
  return names.map((one) => toolOf(name, one));
}

export const withNode = (path: Path, at: number, tool: string): string[] => path.with(at, tool);

export const without = (path: Path, at: number): string[] => path.toSpliced(at, 1);

export const inserted = (path: Path, at: number, tool: string): string[] => path.toSpliced(at, 0, tool);

/** What may be put in before this place. */
export function insertable(flows: readonly FlowSpec[], path: Path, at: number, after: string): string[] {
  const before = at === 0 ? after : (path[at - 1] ?? "");
  return choices(flows, before ? [...path.slice(0, at), before] : path, at, after);
}
