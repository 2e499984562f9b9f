// A node of a flow as a button, with its name, state and cost.
import { fill, PATHS } from "../words";
import { formatCount } from "../ui/format";
import { formatSeconds } from "../ui/values";
import type { NodeState, NodeView } from "./flowProgress";
import { nodeTitle } from "./spec";
import styles from "./NodeButton.module.css";

const MARKS: Record<NodeState, string> = { walked: "✓", now: "●", failed: "✗", planned: "○", out: "·" };

interface Props {
  node: NodeView;
  selected: boolean;
  onSelect: (tool: string) => void;
  className?: string;
  controls?: string;
}

export function NodeButton({ node, selected, onSelect, className = "", controls }: Props) {
  const { spec, state, exitReason } = node;
  return (
    <button
      type="button"
      className={`${styles.node} ${className}`}
      data-testid="flow-node"
      data-node={spec.name}
      data-state={state}
      data-planned={node.isPlanned || undefined}
      aria-pressed={controls ? undefined : selected}
      aria-expanded={controls ? selected : undefined}
      title={exitReason ? fill(PATHS.left_here, { why: exitReason }) : spec.description}
      onClick={() => onSelect(node.tool)}
    >
      <span className={styles.name}>
        <span className={styles.mark} aria-hidden="true">
          {MARKS[state]}
        </span>{" "}
        {nodeTitle(spec)}
      </span>
      <span className={styles.meta} data-left={exitReason ? true : undefined}>
        {exitReason ? fill(PATHS.left_here, { why: exitReason }) : nodeStatusText(node)}
      </span>
    </button>
  );
}

/** The node's state in a few words. */
export function nodeStatusText(node: NodeView): string {
  const { state, runs, needsUser, isPlanned, spec } = node;
  if (state === "now") return needsUser ? (spec.asks ? PATHS.answers : PATHS.needs_approval) : runs.at(-1)?.state === "started" ? PATHS.at_work : PATHS.next;
  if (state === "planned") return PATHS.planned;
  if (state === "failed") return runs.at(-1)?.state === "denied" ? PATHS.declined : PATHS.failed;
  if (state === "out") return isPlanned ? PATHS.skipped : PATHS.off;
  return nodeCostText(node);
}

/** For example "0.42 s · 310 tokens · 2 times". */
export function nodeCostText({ seconds: time, tokens, runs }: Pick<NodeView, "seconds" | "tokens" | "runs">): string {
  const times = runs.filter((action) => action.state === "finished").length;
  return [formatSeconds(time), tokens > 0 && `${formatCount(tokens)} tokens`, times > 1 && fill(PATHS.times, { count: times })].filter(Boolean).join(" · ");
}
