// The layout of a flow's graph, in layers from top to bottom, by dagre. Pure.
import { Graph, layout } from "@dagrejs/dagre";
import type { FlowSpec } from "./spec";

export const NODE_SIZE = { width: 192, height: 50 };
const MARGIN = 8;
const ATTRIBUTION_HEIGHT = 14; // room for React Flow's attribution

export interface Point {
  x: number;
  y: number;
}

export interface FlowLayout {
  positions: ReadonlyMap<string, Point>;
  /** The points of each edge, by "<from> <to>". */
  edgePaths: ReadonlyMap<string, readonly Point[]>;
  left: number;
  top: number;
  width: number;
  height: number;
}

export function layoutFlow(flow: FlowSpec): FlowLayout {
  const graph = new Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 14, ranksep: 30, edgesep: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of flow.nodes) graph.setNode(node.name, { ...NODE_SIZE });
  // keep the default path straight, and do not let back edges flip the graph
  for (const node of flow.nodes) node.possible_next_nodes.forEach((next, index) => graph.setEdge(node.name, next, { weight: index === 0 ? 3 : 1 }));
  layout(graph);
  const positions = new Map(flow.nodes.map((node) => [node.name, topLeft(graph.node(node.name))]));
  const edgePaths = new Map(graph.edges().map(({ v, w }) => [`${v} ${w}`, (graph.edge(v, w) as { points?: Point[] }).points ?? []]));
  return { positions, edgePaths, ...boundingBox([...positions.values()].flatMap(({ x, y }) => [{ x, y }, { x: x + NODE_SIZE.width, y: y + NODE_SIZE.height }]).concat(...edgePaths.values())) };
}

/** The box around all points, with a margin. */
function boundingBox(points: readonly Point[]): Pick<FlowLayout, "left" | "top" | "width" | "height"> {
  const [xs, ys] = [points.map((point) => point.x), points.map((point) => point.y)];
  const [left, top] = [Math.min(...xs) - MARGIN, Math.min(...ys) - MARGIN];
  return { left, top, width: Math.max(...xs) + MARGIN - left, height: Math.max(...ys) + MARGIN + ATTRIBUTION_HEIGHT - top };
}

function topLeft({ x = 0, y = 0 }: Partial<Point>): Point {
  return { x: x - NODE_SIZE.width / 2, y: y - NODE_SIZE.height / 2 };
}

/** A line through the points with rounded corners, its end, and the angle there in degrees. */
export function roundedLine(points: readonly Point[]): { line: string; end: Point; angle: number } {
  const [first = { x: 0, y: 0 }, ...rest] = points;
  const end = rest.at(-1) ?? first;
  const previous = rest.at(-2) ?? first;
  const bends = rest.slice(0, -1).map((point, index) => `Q ${point.x} ${point.y} ${midpoint(point, rest[index + 1] ?? end)}`);
  const line = [`M ${first.x} ${first.y}`, ...bends, `L ${end.x} ${end.y}`].join(" ");
  return { line, end, angle: (Math.atan2(end.y - previous.y, end.x - previous.x) * 180) / Math.PI };
}

const midpoint = (a: Point, b: Point): string => `${(a.x + b.x) / 2} ${(a.y + b.y) / 2}`;
