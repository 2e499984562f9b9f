// A flow with what a turn has made of it: how each node stands, what it was given and what it made. Pure.
import type { TurnEntry } from "../journal/entries";
import type { ActionEntry } from "../journal/entries";
import { isObject, stateOf } from "./found";
import { chains, type FlowSpec, type NodeSpec, PERSON, split, toolOf } from "./spec";

/** `now`: it runs, waits for the person or comes next; `out`: the path does not go there. */
export type NodeState = "walked" | "now" | "failed" | "planned" | "out";
/** `left`: planned, and not walked because the path went elsewhere. */
export type EdgeState = "walked" | "planned" | "left" | "out";

export interface NodeShown {
  spec: NodeSpec;
  tool: string;
  state: NodeState;
  /** It waits for the person. */
  waits: boolean;
  /** On the path as it was planned, or as it is now. */
  planned: boolean;
  runs: readonly ActionEntry[];
  seconds: number;
  tokens: number;
  /** Why the planned path was left here, "" if it was not. */
  left: string;
}

export interface EdgeShown {
  from: string;
  to: string;
  state: EdgeState;
}

export interface Walk {
  flow: FlowSpec;
  nodes: readonly NodeShown[];
  edges: readonly EdgeShown[];
}

export type Walked = Pick<TurnEntry, "actions" | "path" | "changes">;

const OVER: ReadonlySet<string> = new Set(["finished", "failed", "uncertain"]);
const OPEN: ReadonlySet<string> = new Set(["planned", "approved", "asked"]);

/** The action at which the path is. */
export function currentOf(actions: readonly ActionEntry[]): ActionEntry | undefined {
  return actions.find((one) => one.state === "started") ?? actions.find((one) => OPEN.has(one.state));
}

export function walkOf(flow: FlowSpec, turn: Walked): Walk {
  const tools = (turn.path?.nodes ?? []).filter((tool) => split(tool)[0] === flow.name);
  const mine = turn.actions.filter((one) => split(one.spec.tool)[0] === flow.name && split(one.spec.tool)[1] !== PERSON);
  const current = currentOf(turn.actions);
  const planned = new Set([...tools, ...mine.map((one) => one.spec.tool)]);
  const nodes = flow.nodes.map((spec): NodeShown => {
    const tool = toolOf(flow.name, spec.name);
    const runs = mine.filter((one) => one.spec.tool === tool);
    const sum = (of: (one: ActionEntry) => number) => runs.reduce((total, one) => total + of(one), 0);
    return {
      spec,
      tool,
      state: stateOfNode(runs, current),
      waits: runs.some((one) => one === current && (one.state === "asked" || (one.state === "planned" && one.spec.approval_reason !== null))),
      planned: planned.has(tool),
      runs,
      seconds: sum((one) => one.seconds),
      tokens: sum((one) => one.tokens),
      left: leftAt(turn, spec.name),
    };
  });
  const ahead = new Set(nodes.filter((one) => one.state === "planned" || one.state === "now").map((one) => one.tool));
  const edges = edgesOf(flow, tools, mine).map((edge): EdgeShown => (edge.state === "planned" && !ahead.has(edge.to) ? { ...edge, state: "left" } : edge));
  return { flow, nodes, edges };
}

function stateOfNode(runs: readonly ActionEntry[], current: ActionEntry | undefined): NodeState {
  const last = runs.at(-1);
  if (current && runs.includes(current)) return "now";
  if (last?.state === "failed" || last?.state === "denied") return "failed";
  if (runs.some((one) => OVER.has(one.state))) return "walked";
  return last && OPEN.has(last.state) ? "planned" : "out";
}

/** Which condition led away from here, newest. The reason begins with the node's name. */
function leftAt({ changes }: Walked, name: string): string {
  const why = changes.findLast((one) => one.text.startsWith(`${name}:`) || one.text.includes(`.${name}:`))?.text ?? "";
  return why.slice(why.indexOf(":") + 1).trim();
}

function edgesOf(flow: FlowSpec, planned: readonly string[], mine: readonly ActionEntry[]): EdgeShown[] {
  const walked = pairs(mine.filter((one) => OVER.has(one.state) || one.state === "started").map((one) => one.spec.tool));
  const meant = new Set([...pairs(planned), ...pairs(mine.map((one) => one.spec.tool))]);
  return flow.nodes.flatMap((node) =>
    node.possible_next_nodes.map((next): EdgeShown => {
      const [from, to] = [toolOf(flow.name, node.name), toolOf(flow.name, next)];
      const pair = `${from} ${to}`;
      return { from, to, state: walked.has(pair) ? "walked" : meant.has(pair) ? "planned" : "out" };
    }),
  );
}

function pairs(tools: readonly string[]): Set<string> {
  return new Set(tools.slice(1).map((tool, index) => `${tools[index]} ${tool}`));
}

/** The names of the flows of a turn, in order. */
export function flowsOf({ path, actions }: Walked): string[] {
  return [...new Set(chains([...(path?.nodes ?? []), ...actions.map((one) => one.spec.tool)]).map((one) => one.flow))];
}

export interface Value {
  name: string;
  value: unknown;
  /** Where it comes from: a node, "the request", …; "" if the page does not know it. */
  from: string;
  optional: boolean;
}

/** What a flow's state began with, as far as the page knows it: the request, and what the request before came to. */
export interface Beginning {
  request: string;
  before: readonly ActionEntry[];
}

/** What a node was given in this run, or would be given now. */
export function inputsOf(spec: NodeSpec, flow: FlowSpec, turn: Walked, run: ActionEntry | undefined, beginning: Beginning): Value[] {
  const at = run ? turn.actions.indexOf(run) : turn.actions.length;
  const earlier = turn.actions.slice(0, at);
  const value = (name: string, optional: boolean): Value => ({ name, optional, ...sourceOf(name, flow, earlier, run, beginning) });
  return [...spec.inputs.map((name) => value(name, false)), ...spec.optional.map((name) => value(name, true)).filter((one) => !isEmpty(one.value))];
}

function sourceOf(name: string, flow: FlowSpec, earlier: readonly ActionEntry[], run: ActionEntry | undefined, { request, before }: Beginning): { value: unknown; from: string } {
  const maker = earlier.findLast((one) => one.state === "finished" && split(one.spec.tool)[0] === flow.name && isObject(one.result) && name in one.result);
  if (maker && isObject(maker.result)) return { value: maker.result[name], from: nameOf(maker) };
  if (run && name in run.spec.arguments) return { value: run.spec.arguments[name], from: "the path" };
  if (name === "request") return { value: request, from: "you" };
  if (name === "findings") return { value: findings(earlier, flow.name), from: "the flow before" };
  const past = stateOf(before, flow.name);
  const old = name.replace(/^previous_/, "");
  const kept = past[`approved_${old}`] ?? past[old];
  if (old !== name && kept !== undefined) return { value: kept, from: "the request before" };
  return { value: undefined, from: "" };
}

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);

function findings(earlier: readonly ActionEntry[], flow: string): unknown {
  const [first] = earlier.map((one) => split(one.spec.tool)[0]).filter((one) => one !== flow);
  return first ? stateOf(earlier, first) : undefined;
}

function nameOf(action: ActionEntry): string {
  const [, node] = split(action.spec.tool);
  return node === PERSON ? "you" : node;
}
