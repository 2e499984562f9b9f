// A node of a flow as a button: its name, how it stands, and what it took.
import { fill, PATHS } from "../generated/words";
import { count } from "../ui/format";
import { seconds } from "../ui/values";
import { titleOf } from "./spec";
import type { NodeShown, NodeState } from "./walk";

const MARKS: Record<NodeState, string> = { walked: "✓", now: "●", failed: "✗", planned: "○", out: "·" };

interface Props {
  node: NodeShown;
  selected: boolean;
  onSelect: (tool: string) => void;
  className?: string;
  controls?: string;
}

export function NodeLine({ node, selected, onSelect, className = "", controls }: Props) {
  const { spec, state, left } = node;
  return (
    <button
      type="button"
      className={`flow-node ${className}`}
      data-testid="flow-node"
      data-node={spec.name}
      data-state={state}
      data-planned={node.planned || undefined}
      aria-pressed={controls ? undefined : selected}
      aria-expanded={controls ? selected : undefined}
      title={left ? fill(PATHS.left_here, { why: left }) : spec.description}
      onClick={() => onSelect(node.tool)}
    >
      <span className="flow-node-name">
        <span className="flow-mark" aria-hidden="true">
          {MARKS[state]}
        </span>{" "}
        {titleOf(spec)}
      </span>
      <span className="flow-node-meta" data-left={left ? true : undefined}>
        {left ? fill(PATHS.left_here, { why: left }) : saying(node)}
      </span>
    </button>
  );
}

/** How it stands, in a few words. */
export function saying(node: NodeShown): string {
  const { state, runs, waits, planned, spec } = node;
  if (state === "now") return waits ? (spec.asks ? PATHS.answers : PATHS.needs_approval) : runs.at(-1)?.state === "started" ? PATHS.at_work : PATHS.next;
  if (state === "planned") return PATHS.planned;
  if (state === "failed") return runs.at(-1)?.state === "denied" ? PATHS.declined : PATHS.failed;
  if (state === "out") return planned ? PATHS.skipped : PATHS.off;
  return spent(node);
}

/** "0.42 s · 310 tokens · twice" */
export function spent({ seconds: time, tokens, runs }: Pick<NodeShown, "seconds" | "tokens" | "runs">): string {
  const times = runs.filter((one) => one.state === "finished").length;
  return [seconds(time), tokens > 0 && `${count(tokens)} tokens`, times > 1 && fill(PATHS.times, { count: times })].filter(Boolean).join(" · ");
}
