// A flow as a graph of buttons: walked edges are solid, planned ones marked, the rest faint.
import "@xyflow/react/dist/base.css";
import { BaseEdge, type Edge, type EdgeProps, Handle, type Node, type NodeProps, Position, ReactFlow, ReactFlowProvider, useReactFlow, useStore } from "@xyflow/react";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useMemo } from "react";
import { fill, PATHS } from "../words";
import type { EdgeState, FlowProgress, NodeView } from "./flowProgress";
import { type FlowLayout, layoutFlow, NODE_SIZE, type Point, roundedLine } from "./layout";
import { NodeButton } from "./NodeButton";
import { readableName } from "./spec";
import styles from "./Graph.module.css";

interface Props {
  progress: FlowProgress;
  selected: string;
  onSelect: (tool: string) => void;
}

type StepNodeType = Node<{ node: NodeView; selected: boolean; onSelect: (tool: string) => void }, "step">;
type PathEdgeType = Edge<{ points: readonly Point[]; state: EdgeState }, "path">;

const EDGE_Z_INDEX: Record<EdgeState, number> = { out: 0, left: 1, planned: 2, walked: 3 };

export default function Graph(props: Props) {
  const { flow } = props.progress;
  const layout = useMemo(() => layoutFlow(flow), [flow]); // computed once: progress does not move the nodes
  const { ref, width } = useElementSize();
  const zoom = Math.min(1, width / layout.width);
  return (
    <div ref={ref} className={styles.graph} data-testid="flow-graph" style={{ height: `min(75vh, ${layout.height * zoom}px)` }}>
      {width > 0 && (
        <ReactFlowProvider>
          <FlowGraph {...props} layout={layout} />
        </ReactFlowProvider>
      )}
    </div>
  );
}

function FlowGraph({ progress, selected, onSelect, layout }: Props & { layout: FlowLayout }) {
  const nodes = progress.nodes.map(
    (node): StepNodeType => ({
      id: node.spec.name,
      type: "step",
      position: layout.positions.get(node.spec.name) ?? { x: 0, y: 0 },
      ...NODE_SIZE,
      data: { node, selected: node.tool === selected, onSelect },
    }),
  );
  const edges = progress.edges.map((edge): PathEdgeType => {
    const [source = "", target = ""] = [edge.from, edge.to].map((tool) => tool.slice(progress.flow.name.length + 1));
    return { id: `${source} ${target}`, source, target, type: "path", domAttributes: { "aria-hidden": true }, zIndex: EDGE_Z_INDEX[edge.state], data: { points: layout.edgePaths.get(`${source} ${target}`) ?? [], state: edge.state } };
  });
  return (
    <ReactFlow
      nodes={nodes}
      edges={edges}
      nodeTypes={NODE_TYPES}
      edgeTypes={EDGE_TYPES}
      aria-label={fill(PATHS.name, { flow: readableName(progress.flow.name) })}
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
      <FitView layout={layout} />
    </ReactFlow>
  );
}

/** Keeps the whole flow in view, also after a resize. */
function FitView({ layout }: { layout: FlowLayout }) {
  const { setViewport } = useReactFlow();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  useEffect(() => {
    const zoom = Math.min(1, width / layout.width, height / layout.height);
    const [x, y] = [(width - layout.width * zoom) / 2, (height - layout.height * zoom) / 2];
    void setViewport({ zoom, x: x - layout.left * zoom, y: y - layout.top * zoom });
  }, [width, height, layout, setViewport]);
  return null;
}

function StepNode({ data }: NodeProps<StepNodeType>) {
  const { node, selected, onSelect } = data;
  return (
    <>
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <NodeButton node={node} selected={selected} onSelect={onSelect} className="nopan" />
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </>
  );
}

function PathEdge({ id, data }: EdgeProps<PathEdgeType>) {
  const { line, end, angle } = roundedLine(data?.points ?? []);
  return (
    <g className={styles.edge} data-state={data?.state}>
      <BaseEdge id={id} path={line} />
      <path className={styles.arrow} d="M 0 0 L -8 -4 L -8 4 z" transform={`translate(${end.x} ${end.y}) rotate(${angle})`} />
    </g>
  );
}

const NODE_TYPES = { step: StepNode };
const EDGE_TYPES = { path: PathEdge };
