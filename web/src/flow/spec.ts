// Flows as the gateway describes them. Pure.

import type { FlowView as FlowSpec, NodeSpec } from "../protocol";

export type { FlowSpec, NodeSpec };

/** The "node" that stands for values a person has set. */
export const PERSON = "person";

export const toolOf = (flow: string, node: string): string => `${flow}.${node}`;

export function split(tool: string): [flow: string, node: string] {
  const dot = tool.indexOf(".");
  return dot < 0 ? ["", tool] : [tool.slice(0, dot), tool.slice(dot + 1)];
}

/** A name as people read it. */
export const words = (name: string): string => name.replaceAll("_", " ");

/** A node as people read it. */
export const titleOf = (node: NodeSpec): string => node.title || words(node.name);

export const titled = (flows: readonly FlowSpec[], tool: string): string => {
  const [flow, name] = split(tool);
  const node = nodeOf(flowOf(flows, flow), name);
  return node ? titleOf(node) : words(name);
};

export const nodeOf = (flow: FlowSpec | undefined, name: string): NodeSpec | undefined => flow?.nodes.find((one) => one.name === name);

export const flowOf = (flows: readonly FlowSpec[], name: string): FlowSpec | undefined => flows.find((one) => one.name === name);

/** Tools of a path as paths through flows, in order. */
export function chains(tools: readonly string[]): { flow: string; nodes: string[] }[] {
  const found: { flow: string; nodes: string[] }[] = [];
  for (const tool of tools) {
    const [flow, node] = split(tool);
    if (found.at(-1)?.flow !== flow) found.push({ flow, nodes: [] });
    found.at(-1)?.nodes.push(node);
  }
  return found;
}
