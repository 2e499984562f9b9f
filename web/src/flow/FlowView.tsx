// A flow and one of its nodes: side by side where there is room, else a list whose nodes open.
import { SegmentedControl } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { lazy, Suspense, useState } from "react";
import { fill, PATHS, SETTINGS } from "../generated/words";
import { NodeLine } from "./NodeLine";
import { NodePanel } from "./NodePanel";
import { flowOf, type FlowSpec, split, words } from "./spec";
import { type Beginning, currentOf, flowsOf, type NodeShown, type Walk, type Walked, walkOf } from "./walk";

const Graph = lazy(() => import("./Graph"));

interface Props {
  flows: readonly FlowSpec[];
  turn: Walked;
  beginning: Beginning;
}

export function FlowView({ flows, turn, beginning }: Props) {
  const wide = useMediaQuery("(min-width: 60em)", true, { getInitialValueInEffect: false });
  const [chosen, choose] = useState("");
  const [opened, open] = useState<string | null>(null);
  const names = flowsOf(turn);
  const here = currentOf(turn.actions) ?? turn.actions.findLast((one) => one.state === "finished" || one.state === "failed");
  const [hereFlow] = split(here?.spec.tool ?? "");
  const name = names.includes(chosen) ? chosen : names.includes(hereFlow) ? hereFlow : (names[0] ?? "");
  const flow = flowOf(flows, name);
  if (!flow) return <p className="hint">{fill(PATHS.gone, { flow: words(name) })}</p>;
  const walk = walkOf(flow, turn);
  // until the person looks at a node, the one is shown at which the path is
  const followed = opened ?? (wide ? (here?.spec.tool ?? walk.nodes[0]?.tool ?? "") : "");
  const node = walk.nodes.find((one) => one.tool === followed) ?? (wide ? walk.nodes[0] : undefined);
  const parts = { walk, turn, beginning };
  return (
    <>
      {names.length > 1 && (
        <SegmentedControl size="xs" aria-label={SETTINGS.flow} value={name} onChange={choose} data={names.map((one, index) => ({ value: one, label: `${index + 1}. ${words(one)}` }))} data-testid="flow-choice" />
      )}
      {wide ? (
        <div className="flow-wide">
          <Suspense fallback={<div className="flow-graph" style={{ height: heightOf(flow) }} />}>
            <Graph key={flow.name} walk={walk} selected={node?.tool ?? ""} onSelect={open} />
          </Suspense>
          {node && <NodePanel key={node.tool} node={node} {...parts} />}
        </div>
      ) : (
        <NodeList {...parts} opened={opened} onOpen={(tool) => open(tool === opened ? null : tool)} />
      )}
    </>
  );
}

/** About the room that the graph will take, while it is being loaded. */
function heightOf(flow: FlowSpec): string {
  return `min(75vh, ${flow.full_path.length * 4.2}rem)`;
}

interface ListProps {
  walk: Walk;
  turn: Walked;
  beginning: Beginning;
  opened: string | null;
  onOpen: (tool: string) => void;
}

/** In the order of the path; what it leaves out comes last. */
function NodeList({ walk, turn, beginning, opened, onOpen }: ListProps) {
  const order = [...turn.actions.map((one) => one.spec.tool), ...(turn.path?.nodes ?? [])];
  const on = walk.nodes.filter((one) => one.state !== "out" || one.planned).toSorted((a, b) => order.indexOf(a.tool) - order.indexOf(b.tool));
  const out = walk.nodes.filter((one) => !on.includes(one));
  const item = (node: NodeShown) => (
    <li key={node.tool}>
      <NodeLine node={node} selected={node.tool === opened} onSelect={onOpen} controls="panel" />
      {node.tool === opened && <NodePanel node={node} walk={walk} turn={turn} beginning={beginning} />}
    </li>
  );
  return (
    <div className="flow-narrow" data-testid="flow-list">
      <ol>{on.map(item)}</ol>
      {out.length > 0 && (
        <details>
          <summary className="dimmed">{out.length === 1 ? PATHS.node_off : fill(PATHS.nodes_off, { count: out.length })}</summary>
          <ol>{out.map(item)}</ol>
        </details>
      )}
    </div>
  );
}
