// A flow and its selected node: side by side on wide screens, otherwise a list of nodes that expand.
import { SegmentedControl } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { lazy, useState } from "react";
import { fill, PATHS, SETTINGS } from "../generated/words";
import { LazyBoundary } from "../ui/LazyBoundary";
import { currentAction, type FlowContext, flowNames, type FlowProgress, flowProgress, type NodeView, type WalkedTurn } from "./flowProgress";
import { NodeButton } from "./NodeButton";
import { NodePanel } from "./NodePanel";
import { flowOf, type FlowSpec, readableName, splitTool } from "./spec";
import styles from "./FlowView.module.css";
import graphStyles from "./Graph.module.css";
import typography from "../ui/typography.module.css";

const Graph = lazy(() => import("./Graph"));

interface Props {
  flows: readonly FlowSpec[];
  turn: WalkedTurn;
  context: FlowContext;
}

export function FlowView({ flows, turn, context }: Props) {
  const isWide = useMediaQuery("(min-width: 60em)", true, { getInitialValueInEffect: false });
  const [chosenFlow, chooseFlow] = useState("");
  const [opened, open] = useState<string | null>(null);
  const names = flowNames(turn);
  const current = currentAction(turn.actions) ?? turn.actions.findLast((action) => action.state === "finished" || action.state === "failed");
  const [currentFlow] = splitTool(current?.tool ?? "");
  const name = names.includes(chosenFlow) ? chosenFlow : names.includes(currentFlow) ? currentFlow : (names[0] ?? "");
  const flow = flowOf(flows, name);
  if (!flow) return <p className={typography.hint}>{fill(PATHS.gone, { flow: readableName(name) })}</p>;
  const progress = flowProgress(flow, turn);
  // until the user selects a node, show the current one
  const selectedTool = opened ?? (isWide ? (current?.tool ?? progress.nodes[0]?.tool ?? "") : "");
  const node = progress.nodes.find((node) => node.tool === selectedTool) ?? (isWide ? progress.nodes[0] : undefined);
  const common = { progress, turn, context };
  return (
    <>
      {names.length > 1 && (
        <SegmentedControl size="xs" aria-label={SETTINGS.flow} value={name} onChange={chooseFlow} data={names.map((flowName, index) => ({ value: flowName, label: `${index + 1}. ${readableName(flowName)}` }))} data-testid="flow-choice" />
      )}
      {isWide ? (
        <div className={styles.wide}>
          <LazyBoundary fallback={<div className={graphStyles.graph} style={{ height: placeholderHeight(flow) }} />}>
            <Graph key={flow.name} progress={progress} selected={node?.tool ?? ""} onSelect={open} />
          </LazyBoundary>
          {node && <NodePanel key={node.tool} node={node} {...common} />}
        </div>
      ) : (
        <NodeList {...common} opened={opened} onOpen={(tool) => open(tool === opened ? null : tool)} />
      )}
    </>
  );
}

/** An approximate height for the placeholder while the graph loads. */
function placeholderHeight(flow: FlowSpec): string {
  return `min(75vh, ${flow.full_path.length * 4.2}rem)`;
}

interface NodeListProps {
  progress: FlowProgress;
  turn: WalkedTurn;
  context: FlowContext;
  opened: string | null;
  onOpen: (tool: string) => void;
}

/** Nodes in path order; nodes that are not on the path come last. */
function NodeList({ progress, turn, context, opened, onOpen }: NodeListProps) {
  const order = [...turn.actions.map((action) => action.tool), ...(turn.path?.nodes ?? [])];
  const onPath = progress.nodes.filter((node) => node.state !== "out" || node.isPlanned).toSorted((a, b) => order.indexOf(a.tool) - order.indexOf(b.tool));
  const offPath = progress.nodes.filter((node) => !onPath.includes(node));
  const item = (node: NodeView) => (
    <li key={node.tool}>
      <NodeButton node={node} selected={node.tool === opened} onSelect={onOpen} controls="panel" />
      {node.tool === opened && <NodePanel node={node} progress={progress} turn={turn} context={context} />}
    </li>
  );
  return (
    <div className={styles.narrow} data-testid="flow-list">
      <ol role="list">{onPath.map(item)}</ol>
      {offPath.length > 0 && (
        <details>
          <summary className={typography.dimmed}>{offPath.length === 1 ? PATHS.node_off : fill(PATHS.nodes_off, { count: offPath.length })}</summary>
          <ol role="list">{offPath.map(item)}</ol>
        </details>
      )}
    </div>
  );
}
