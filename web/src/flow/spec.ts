// Helpers for flow descriptions. Pure.

import type { FlowView as FlowSpec, NodeSpec } from "../protocol";

export type { FlowSpec, NodeSpec };

/** The pseudo-node that holds values set by the user. */
export const USER_NODE = "person";

export const toolOf = (flow: string, node: string): string => `${flow}.${node}`;

export function splitTool(tool: string): [flow: string, node: string] {
  const dot = tool.indexOf(".");
  return dot < 0 ? ["", tool] : [tool.slice(0, dot), tool.slice(dot + 1)];
}

/** A name for display. */
export const readableName = (name: string): string => name.replaceAll("_", " ");

/** A node's title for display. */
export const nodeTitle = (node: NodeSpec): string => node.title || readableName(node.name);

export const toolTitle = (flows: readonly FlowSpec[], tool: string): string => {
  const [flow, name] = splitTool(tool);
  const node = nodeOf(flowOf(flows, flow), name);
  return node ? nodeTitle(node) : readableName(name);
};

export const nodeOf = (flow: FlowSpec | undefined, name: string): NodeSpec | undefined => flow?.nodes.find((node) => node.name === name);

export const flowOf = (flows: readonly FlowSpec[], name: string): FlowSpec | undefined => flows.find((flow) => flow.name === name);

/** Groups a path's tools by flow, in order. */
export function groupByFlow(tools: readonly string[]): { flow: string; nodes: string[] }[] {
  const chains: { flow: string; nodes: string[] }[] = [];
  for (const tool of tools) {
    const [flow, node] = splitTool(tool);
    if (chains.at(-1)?.flow !== flow) chains.push({ flow, nodes: [] });
    chains.at(-1)?.nodes.push(node);
  }
  return chains;
}
