// A flow combined with a turn's actions: the state of each node and edge, with inputs and outputs. Pure.
import type { ActionEntry, TurnEntry } from "../journal/entries";
import { isObject } from "../ui/values";
import { flowOutputs } from "./queryResult";
import { type FlowSpec, groupByFlow, type NodeSpec, splitTool, toolOf, USER_NODE } from "./spec";

/** `now`: running, waiting for the user, or next; `out`: not on the path. */
export type NodeState = "walked" | "now" | "failed" | "planned" | "out";
/** `left`: planned, but the path took another edge. */
export type EdgeState = "walked" | "planned" | "left" | "out";

export interface NodeView {
  spec: NodeSpec;
  tool: string;
  state: NodeState;
  /** Whether the node waits for the user. */
  needsUser: boolean;
  /** Whether the node is on the original or the current path. */
  isPlanned: boolean;
  runs: readonly ActionEntry[];
  seconds: number;
  tokens: number;
  /** Why the path left the plan at this node; "" if it did not. */
  exitReason: string;
}

interface EdgeView {
  from: string;
  to: string;
  state: EdgeState;
}

export interface FlowProgress {
  flow: FlowSpec;
  nodes: readonly NodeView[];
  edges: readonly EdgeView[];
}

export type WalkedTurn = Pick<TurnEntry, "actions" | "path" | "changes">;

const DONE_STATES: ReadonlySet<string> = new Set(["finished", "failed", "uncertain"]);
const OPEN_STATES: ReadonlySet<string> = new Set(["planned", "approved", "asked"]);

/** The action that is running, or else the next one. */
export function currentAction(actions: readonly ActionEntry[]): ActionEntry | undefined {
  return actions.find((action) => action.state === "started") ?? actions.find((action) => OPEN_STATES.has(action.state));
}

export function flowProgress(flow: FlowSpec, turn: WalkedTurn): FlowProgress {
  const tools = (turn.path?.nodes ?? []).filter((tool) => splitTool(tool)[0] === flow.name);
  const flowActions = turn.actions.filter((action) => splitTool(action.tool)[0] === flow.name && splitTool(action.tool)[1] !== USER_NODE);
  const current = currentAction(turn.actions);
  const planned = new Set([...tools, ...flowActions.map((action) => action.tool)]);
  const nodes = flow.nodes.map((spec): NodeView => {
    const tool = toolOf(flow.name, spec.name);
    const runs = flowActions.filter((action) => action.tool === tool);
    const sum = (of: (action: ActionEntry) => number) => runs.reduce((total, action) => total + of(action), 0);
    return {
      spec,
      tool,
      state: nodeState(runs, current),
      needsUser: runs.some((action) => action === current && (action.state === "asked" || (action.state === "planned" && action.approval !== null))),
      isPlanned: planned.has(tool),
      runs,
      seconds: sum((action) => action.seconds),
      tokens: sum((action) => action.tokens),
      exitReason: exitReasonAt(turn, spec.name),
    };
  });
  const aheadTools = new Set(nodes.filter((node) => node.state === "planned" || node.state === "now").map((node) => node.tool));
  const edges = edgeViews(flow, tools, flowActions).map((edge): EdgeView => (edge.state === "planned" && !aheadTools.has(edge.to) ? { ...edge, state: "left" } : edge));
  return { flow, nodes, edges };
}

function nodeState(runs: readonly ActionEntry[], current: ActionEntry | undefined): NodeState {
  const last = runs.at(-1);
  if (current && runs.includes(current)) return "now";
  if (last?.state === "failed" || last?.state === "denied") return "failed";
  if (runs.some((action) => DONE_STATES.has(action.state))) return "walked";
  return last && OPEN_STATES.has(last.state) ? "planned" : "out";
}

/** The newest condition that changed the path at this node. A reason starts with the node's name. */
function exitReasonAt({ changes }: WalkedTurn, name: string): string {
  const reason = changes.findLast((change) => change.text.startsWith(`${name}:`) || change.text.includes(`.${name}:`))?.text ?? "";
  return reason.slice(reason.indexOf(":") + 1).trim();
}

function edgeViews(flow: FlowSpec, planned: readonly string[], flowActions: readonly ActionEntry[]): EdgeView[] {
  const walkedPairs = consecutivePairs(flowActions.filter((action) => DONE_STATES.has(action.state) || action.state === "started").map((action) => action.tool));
  const plannedPairs = new Set([...consecutivePairs(planned), ...consecutivePairs(flowActions.map((action) => action.tool))]);
  return flow.nodes.flatMap((node) =>
    node.possible_next_nodes.map((next): EdgeView => {
      const [from, to] = [toolOf(flow.name, node.name), toolOf(flow.name, next)];
      const pair = `${from} ${to}`;
      return { from, to, state: walkedPairs.has(pair) ? "walked" : plannedPairs.has(pair) ? "planned" : "out" };
    }),
  );
}

function consecutivePairs(tools: readonly string[]): Set<string> {
  return new Set(tools.slice(1).map((tool, index) => `${tools[index]} ${tool}`));
}

/** The names of a turn's flows, in order. */
export function flowNames({ path, actions }: WalkedTurn): string[] {
  return [...new Set(groupByFlow([...(path?.nodes ?? []), ...actions.map((action) => action.tool)]).map((chain) => chain.flow))];
}

export interface NodeInput {
  name: string;
  value: unknown;
  /** A node's name, "the request", …; "" if the page does not know the source. */
  from: string;
  optional: boolean;
}

/** The initial state of a flow, as far as the page knows it. */
export interface FlowContext {
  request: string;
  previousActions: readonly ActionEntry[];
}

/** The inputs of a node in this run; without a run, the inputs that it would get now. */
export function nodeInputs(spec: NodeSpec, flow: FlowSpec, turn: WalkedTurn, run: ActionEntry | undefined, context: FlowContext): NodeInput[] {
  const index = run ? turn.actions.indexOf(run) : turn.actions.length;
  const earlier = turn.actions.slice(0, index);
  const value = (name: string, optional: boolean): NodeInput => ({ name, optional, ...inputSource(name, flow, earlier, run, context) });
  return [...spec.inputs.map((name) => value(name, false)), ...spec.optional.map((name) => value(name, true)).filter((input) => !isEmpty(input.value))];
}

function inputSource(name: string, flow: FlowSpec, earlier: readonly ActionEntry[], run: ActionEntry | undefined, { request, previousActions }: FlowContext): { value: unknown; from: string } {
  const producer = earlier.findLast((action) => action.state === "finished" && splitTool(action.tool)[0] === flow.name && isObject(action.result) && name in action.result);
  if (producer && isObject(producer.result)) return { value: producer.result[name], from: sourceName(producer) };
  if (run && name in run.arguments) return { value: run.arguments[name], from: "the path" };
  if (name === "request") return { value: request, from: "you" };
  if (name === "findings") return { value: previousFlowOutputs(earlier, flow.name), from: "the flow before" };
  const previousOutputs = flowOutputs(previousActions, flow.name);
  const currentName = name.replace(/^previous_/, "");
  const previousValue = previousOutputs[`approved_${currentName}`] ?? previousOutputs[currentName];
  if (currentName !== name && previousValue !== undefined) return { value: previousValue, from: "the request before" };
  return { value: undefined, from: "" };
}

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);

function previousFlowOutputs(earlier: readonly ActionEntry[], flow: string): unknown {
  const [first] = earlier.map((action) => splitTool(action.tool)[0]).filter((name) => name !== flow);
  return first ? flowOutputs(earlier, first) : undefined;
}

function sourceName(action: ActionEntry): string {
  const [, node] = splitTool(action.tool);
  return node === USER_NODE ? "you" : node;
}
