// A flow as a graph: its nodes are buttons, what was walked is solid, what is planned is marked, the rest is faint.
import "@xyflow/react/dist/base.css";
import { BaseEdge, type Edge, type EdgeProps, Handle, type Node, type NodeProps, Position, ReactFlow, ReactFlowProvider, useReactFlow, useStore } from "@xyflow/react";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useMemo } from "react";
import { fill, PATHS } from "../generated/words";
import { lineOf, NODE, type Placed, placed, type Point } from "./layout";
import { NodeLine } from "./NodeLine";
import { words } from "./spec";
import type { EdgeState, NodeShown, Walk } from "./walk";

interface Props {
  walk: Walk;
  selected: string;
  onSelect: (tool: string) => void;
}

type Step = Node<{ node: NodeShown; selected: boolean; onSelect: (tool: string) => void }, "step">;
type Way = Edge<{ points: readonly Point[]; state: EdgeState }, "way">;

const ON_TOP: Record<EdgeState, number> = { out: 0, left: 1, planned: 2, walked: 3 };

export default function Graph(props: Props) {
  const { flow } = props.walk;
  const places = useMemo(() => placed(flow), [flow]); // once: what happens in a flow moves nothing
  const { ref, width } = useElementSize();
  const zoom = Math.min(1, width / places.width);
  return (
    <div ref={ref} className="flow-graph" data-testid="flow-graph" style={{ height: `min(75vh, ${places.height * zoom}px)` }}>
      {width > 0 && (
        <ReactFlowProvider>
          <Drawn {...props} places={places} />
        </ReactFlowProvider>
      )}
    </div>
  );
}

function Drawn({ walk, selected, onSelect, places }: Props & { places: Placed }) {
  const nodes = walk.nodes.map(
    (node): Step => ({
      id: node.spec.name,
      type: "step",
      position: places.at.get(node.spec.name) ?? { x: 0, y: 0 },
      ...NODE,
      data: { node, selected: node.tool === selected, onSelect },
    }),
  );
  const edges = walk.edges.map((edge): Way => {
    const [source = "", target = ""] = [edge.from, edge.to].map((tool) => tool.slice(walk.flow.name.length + 1));
    return { id: `${source} ${target}`, source, target, type: "way", domAttributes: { "aria-hidden": true }, zIndex: ON_TOP[edge.state], data: { points: places.ways.get(`${source} ${target}`) ?? [], state: edge.state } };
  });
  return (
    <ReactFlow
      nodes={nodes}
      edges={edges}
      nodeTypes={NODES}
      edgeTypes={EDGES}
      aria-label={fill(PATHS.name, { flow: words(walk.flow.name) })}
      minZoom={0.3}
      maxZoom={1}
      nodesDraggable={false}
      nodesConnectable={false}
      nodesFocusable={false}
      edgesFocusable={false}
      elementsSelectable={false}
      disableKeyboardA11y
      zoomOnScroll={false}
      zoomOnDoubleClick={false}
      preventScrolling={false}
    >
      <Fitted places={places} />
    </ReactFlow>
  );
}

/** The whole flow is in sight with its edges, also when its box becomes wider. */
function Fitted({ places }: { places: Placed }) {
  const { setViewport } = useReactFlow();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  useEffect(() => {
    const zoom = Math.min(1, width / places.width, height / places.height);
    const [x, y] = [(width - places.width * zoom) / 2, (height - places.height * zoom) / 2];
    void setViewport({ zoom, x: x - places.left * zoom, y: y - places.top * zoom });
  }, [width, height, places, setViewport]);
  return null;
}

function StepNode({ data }: NodeProps<Step>) {
  const { node, selected, onSelect } = data;
  return (
    <>
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <NodeLine node={node} selected={selected} onSelect={onSelect} className="nopan" />
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </>
  );
}

function WayEdge({ id, data }: EdgeProps<Way>) {
  const { line, end, angle } = lineOf(data?.points ?? []);
  return (
    <g className="flow-edge" data-state={data?.state}>
      <BaseEdge id={id} path={line} />
      <path className="flow-arrow" d="M 0 0 L -8 -4 L -8 4 z" transform={`translate(${end.x} ${end.y}) rotate(${angle})`} />
    </g>
  );
}

const NODES = { step: StepNode };
const EDGES = { way: WayEdge };
