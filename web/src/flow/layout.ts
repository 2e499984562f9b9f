// Where the nodes of a flow are drawn: in layers from top to bottom, by dagre. Pure.
import { Graph, layout } from "@dagrejs/dagre";
import type { FlowSpec } from "./spec";

export const NODE = { width: 192, height: 50 };
const MARGIN = 8;
const FOOT = 14; // for the name of the library that draws it

export interface Point {
  x: number;
  y: number;
}

export interface Placed {
  at: ReadonlyMap<string, Point>;
  /** By "<from> <to>", the way of an edge around the nodes that it is not for. */
  ways: ReadonlyMap<string, readonly Point[]>;
  left: number;
  top: number;
  width: number;
  height: number;
}

export function placed(flow: FlowSpec): Placed {
  const graph = new Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 14, ranksep: 30, edgesep: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of flow.nodes) graph.setNode(node.name, { ...NODE });
  // the ordinary way is kept straight, and what leads back does not turn the picture over
  for (const node of flow.nodes) node.possible_next_nodes.forEach((next, index) => graph.setEdge(node.name, next, { weight: index === 0 ? 3 : 1 }));
  layout(graph);
  const at = new Map(flow.nodes.map((node) => [node.name, cornerOf(graph.node(node.name))]));
  const ways = new Map(graph.edges().map(({ v, w }) => [`${v} ${w}`, (graph.edge(v, w) as { points?: Point[] }).points ?? []]));
  return { at, ways, ...boxOf([...at.values()].flatMap(({ x, y }) => [{ x, y }, { x: x + NODE.width, y: y + NODE.height }]).concat(...ways.values())) };
}

/** What holds all these points, with a little room around them. */
function boxOf(points: readonly Point[]): Pick<Placed, "left" | "top" | "width" | "height"> {
  const [xs, ys] = [points.map((one) => one.x), points.map((one) => one.y)];
  const [left, top] = [Math.min(...xs) - MARGIN, Math.min(...ys) - MARGIN];
  return { left, top, width: Math.max(...xs) + MARGIN - left, height: Math.max(...ys) + MARGIN + FOOT - top };
}

function cornerOf({ x = 0, y = 0 }: Partial<Point>): Point {
  return { x: x - NODE.width / 2, y: y - NODE.height / 2 };
}

/** A line through these points with its corners rounded, and the direction in which it arrives. */
export function lineOf(points: readonly Point[]): { line: string; end: Point; angle: number } {
  const [first = { x: 0, y: 0 }, ...rest] = points;
  const end = rest.at(-1) ?? first;
  const before = rest.at(-2) ?? first;
  const bends = rest.slice(0, -1).map((point, index) => `Q ${point.x} ${point.y} ${middle(point, rest[index + 1] ?? end)}`);
  const line = [`M ${first.x} ${first.y}`, ...bends, `L ${end.x} ${end.y}`].join(" ");
  return { line, end, angle: (Math.atan2(end.y - before.y, end.x - before.x) * 180) / Math.PI };
}

const middle = (a: Point, b: Point): string => `${(a.x + b.x) / 2} ${(a.y + b.y) / 2}`;
