// A node of a flow as a button: its name, how it stands, and what it took.
import { count } from "../ui/format";
import { seconds } from "../ui/values";
import { words } from "./spec";
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
      title={left ? `Left here: ${left}` : spec.description}
      onClick={() => onSelect(node.tool)}
    >
      <span className="flow-node-name">
        <span className="flow-mark" aria-hidden="true">
          {MARKS[state]}
        </span>{" "}
        {words(spec.name)}
      </span>
      <span className="flow-node-meta" data-left={left ? true : undefined}>
        {left ? `left here: ${left}` : saying(node)}
      </span>
    </button>
  );
}

/** How it stands, in a few words. */
export function saying(node: NodeShown): string {
  const { state, runs, waits, planned, spec } = node;
  if (state === "now") return waits ? (spec.asks ? "asks you" : "waits for your yes") : runs.at(-1)?.state === "started" ? "at work" : "next";
  if (state === "planned") return "planned";
  if (state === "failed") return runs.at(-1)?.state === "denied" ? "refused" : "failed";
  if (state === "out") return planned ? "planned, left out" : "not on the path";
  return spent(node);
}

/** "0.42 s · 310 tokens · twice" */
export function spent({ seconds: time, tokens, runs }: Pick<NodeShown, "seconds" | "tokens" | "runs">): string {
  const times = runs.filter((one) => one.state === "finished").length;
  return [seconds(time), tokens > 0 && `${count(tokens)} tokens`, times > 1 && `${times} times`].filter(Boolean).join(" · ");
}
