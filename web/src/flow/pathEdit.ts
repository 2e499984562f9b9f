// What an edit of a path can choose. A path is a list of tools "<flow>.<node>". Pure.
import { flowOf, type FlowSpec, nodeOf, splitTool, toolOf } from "./spec";

export type Path = readonly string[];

/**
 * The nodes allowed at this place: those that may follow the previous node, or any node of the flow if there is none.
 */
export function allowedNodes(flows: readonly FlowSpec[], path: Path, index: number, after: string): string[] {
  const previous = index === 0 ? after : (path[index - 1] ?? "");
  const [previousFlow, node] = splitTool(previous);
  const [name] = splitTool(path[index] ?? previous);
  const flow = flowOf(flows, name);
  if (!flow) return [];
  const next = previousFlow === name ? nodeOf(flow, node)?.possible_next_nodes : undefined;
  const names = next ?? flow.nodes.map((node) => node.name);
  return names.map((next) => toolOf(name, next));
}

/** The nodes that can be inserted before this place. */
export function insertableNodes(flows: readonly FlowSpec[], path: Path, index: number, after: string): string[] {
  const previous = index === 0 ? after : (path[index - 1] ?? "");
  return allowedNodes(flows, previous ? [...path.slice(0, index), previous] : path, index, after);
}
