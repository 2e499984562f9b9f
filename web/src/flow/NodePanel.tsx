// A node in full: its description, and the inputs and outputs of each run.
import { fill, PATHS, TABLES } from "../generated/words";
import type { ActionEntry } from "../journal/entries";
import { Result } from "../journal/Result";
import { rowCountText, tableOf } from "../result/table";
import { LongText } from "../ui/Details";
import { formatInline, isObject } from "../ui/values";
import { type FlowContext, type FlowProgress, type NodeInput, nodeInputs, type NodeView, type WalkedTurn } from "./flowProgress";
import { nodeCostText, nodeStatusText } from "./NodeButton";
import { nodeTitle, readableName } from "./spec";
import styles from "./NodePanel.module.css";
import typography from "../ui/typography.module.css";

interface Props {
  node: NodeView;
  progress: FlowProgress;
  turn: WalkedTurn;
  context: FlowContext;
}

export function NodePanel({ node, progress, turn, context }: Props) {
  const { spec, runs, exitReason } = node;
  const times = runs.length > 0 ? runs.toReversed() : [undefined];
  return (
    <div className={styles.panel} data-testid="node-panel" role="region" aria-label={nodeTitle(spec)}>
      <h3>{nodeTitle(spec)}</h3>
      <p>{spec.description}</p>
      <p className={typography.dimmed}>
        {[node.state === "walked" ? nodeCostText(node) : nodeStatusText(node), spec.asks && PATHS.answers, spec.effect !== "read" && spec.effect, spec.confirm && PATHS.shown_first].filter(Boolean).join(" · ")}
      </p>
      {exitReason && (
        <p className={styles.exit} data-testid="node-left">
          {fill(PATHS.left_here, { why: exitReason })}
        </p>
      )}
      {times.map((run, index) => (
        <NodeRun key={run?.action_id ?? "none"} run={run} values={nodeInputs(spec, progress.flow, turn, run, context)} title={runs.length > 1 ? fill(PATHS.time, { number: runs.length - index }) : ""} />
      ))}
      <NextNodes node={node} />
    </div>
  );
}

function NodeRun({ run, values, title }: { run: ActionEntry | undefined; values: readonly NodeInput[]; title: string }) {
  const output = run?.state === "finished" ? run.result : null;
  return (
    <div className={styles.run} data-testid="node-run">
      {title && <h4>{title}</h4>}
      {values.length > 0 && (
        <>
          <h4>{PATHS.input}</h4>
          <dl className={styles.values} data-testid="node-input">
            {values.map((input) => (
              <div key={input.name}>
                <dt>
                  {input.name} {input.from && <span className={typography.dimmed}>{fill(PATHS.from, { name: readableName(input.from) })}</span>}
                </dt>
                <dd>{input.value === undefined ? <span className={typography.dimmed}>{PATHS.unknown_value}</span> : <ValueView value={input.value} name={input.name} />}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
      {run?.error && <p className={typography.problem}>{run.error}</p>}
      {output !== null && output !== undefined && (
        <>
          <h4>{PATHS.output}</h4>
          {isObject(output) ? (
            <dl className={styles.values} data-testid="node-output">
              {Object.entries(output).map(([name, value]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <ValueView value={value} name={name} />
                  </dd>
                </div>
              ))}
            </dl>
          ) : (
            <div data-testid="node-output">
              <Result result={output} />
            </div>
          )}
        </>
      )}
    </div>
  );
}

/** A short value in one line, a long one expandable, a table as its size. */
function ValueView({ value, name }: { value: unknown; name: string }) {
  const table = tableOf(value);
  if (table) return <>{fill(TABLES.table_value, { rows: rowCountText(table), columns: table.columns.length })}</>;
  const line = formatInline(value);
  if (line.length <= 80 && !line.includes("\n")) return <code>{line}</code>;
  return <LongText value={value} label={name} />;
}

/** The nodes that can follow, with their conditions. */
function NextNodes({ node: { spec } }: { node: NodeView }) {
  if (spec.possible_next_nodes.length === 0) return <p className={typography.dimmed}>{PATHS.end}</p>;
  return (
    <details className={styles.next}>
      <summary>{PATHS.next_steps}</summary>
      <ul>
        {spec.possible_next_nodes.map((next, index) => (
          <li key={next}>
            {readableName(next)} <span className={typography.dimmed}>{spec.conditions[next] ? <>{PATHS.when} <code>{spec.conditions[next]}</code></> : index === 0 ? PATHS.whole : PATHS.if_planned}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
