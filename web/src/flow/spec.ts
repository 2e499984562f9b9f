// Flows as the gateway describes them, and the rules of a path through them: the same as the services'. Pure.

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

/** Values that a node of the path needs and nothing before it makes. */
export function missing(flow: FlowSpec, path: readonly string[], have: Iterable<string>): string[] {
  const known = new Set(have);
  const lacking = new Set<string>();
  for (const name of path) {
    const node = nodeOf(flow, name);
    for (const one of node?.inputs ?? []) if (!known.has(one)) lacking.add(one);
    for (const one of node?.outputs ?? []) known.add(one);
  }
  return [...lacking];
}

/** Why this path cannot be walked from a state that has these values; `after`: the node that has run before it. */
export function pathProblems(flow: FlowSpec, path: readonly string[], have: Iterable<string>, after = ""): string[] {
  if (path.length === 0) return ["The path has no nodes."];
  const unknown = path.filter((name) => !nodeOf(flow, name));
  if (unknown.length > 0) return unknown.map((name) => `${flow.name} has no node “${name}”.`);
  const problems: string[] = [];
  const known = new Set(have);
  let before = nodeOf(flow, after);
  for (const name of path) {
    const node = nodeOf(flow, name) as NodeSpec;
    if (before && !before.possible_next_nodes.includes(name))
      problems.push(`${words(before.name)} is not followed by ${words(name)}, but by ${listed(before.possible_next_nodes) || "nothing: the flow ends there"}.`);
    const lacking = node.inputs.filter((one) => !known.has(one));
    if (lacking.length > 0) problems.push(`${words(name)} needs ${listed(lacking)}, which nothing before it makes.`);
    for (const one of node.outputs) known.add(one);
    before = node;
  }
  if (before && before.possible_next_nodes.length > 0) problems.push(`The path ends at ${words(before.name)}, which is no end. Next: ${listed(before.possible_next_nodes)}.`);
  return problems;
}

const listed = (names: readonly string[]): string => names.map(words).join(", ");

/** What the path begins with: the node that ran last, and the values there are by now, by flow. */
export interface Standing {
  after: string;
  have: readonly string[];
}

/** The same for the tools of a path through one or two flows. */
export function problemsOf(flows: readonly FlowSpec[], tools: readonly string[], standing: Standing): string[] {
  if (tools.length === 0) return ["The path has no nodes."];
  return chains(tools).flatMap(({ flow: name, nodes }, index) => {
    const flow = flowOf(flows, name);
    if (!flow) return [`There is no flow “${name}”.`];
    const [afterFlow, after] = split(standing.after);
    const begins = index === 0 && afterFlow === name ? after : "";
    const running = begins ? (nodeOf(flow, begins)?.outputs ?? []) : []; // what runs now will have made them
    const have = index === 0 ? [...standing.have, ...running] : ["findings"];
    return pathProblems(flow, nodes, [...flow.starts, ...have], begins);
  });
}

/** Values that the flow began with: what the path as it was planned needs and does not make. */
export function begunWith(flows: readonly FlowSpec[], planned: readonly string[]): string[] {
  const [first] = chains(planned);
  const flow = first && flowOf(flows, first.flow);
  return flow ? missing(flow, first.nodes, flow.starts).filter((name) => flow.may_start.includes(name)) : [];
}

/** The ordinary way from a node to an end, without the node itself. */
export function ordinary(flow: FlowSpec, from: string): string[] {
  const way: string[] = [];
  let node = nodeOf(flow, from);
  for (;;) {
    const next = node?.possible_next_nodes[0];
    if (!next || way.includes(next)) return way;
    way.push(next);
    node = nodeOf(flow, next);
  }
}
