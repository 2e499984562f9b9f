// One node: what it is for, and for each time it ran what it was given and what it made.
import type { ActionEntry } from "../journal/entries";
import { Result } from "../journal/Result";
import { Long } from "../ui/Details";
import { inline } from "../ui/values";
import { tableOf, counted } from "../result/table";
import { isObject } from "./found";
import { words } from "./spec";
import { saying, spent } from "./NodeLine";
import { type Beginning, inputsOf, type NodeShown, type Value, type Walk, type Walked } from "./walk";

interface Props {
  node: NodeShown;
  walk: Walk;
  turn: Walked;
  beginning: Beginning;
}

export function NodePanel({ node, walk, turn, beginning }: Props) {
  const { spec, runs, left } = node;
  const times = runs.length > 0 ? runs.toReversed() : [undefined];
  return (
    <div className="flow-panel" data-testid="node-panel" role="region" aria-label={words(spec.name)}>
      <h3>{words(spec.name)}</h3>
      <p>{spec.description}</p>
      <p className="dimmed">
        {[node.state === "walked" ? spent(node) : saying(node), spec.asks && "asks the person", spec.effect !== "read" && spec.effect, spec.confirm && "shown before it runs"].filter(Boolean).join(" · ")}
      </p>
      {left && (
        <p className="flow-left" data-testid="node-left">
          The planned path was left here: {left}
        </p>
      )}
      {times.map((run, index) => (
        <Run key={run?.spec.id ?? "none"} run={run} values={inputsOf(spec, walk.flow, turn, run, beginning)} title={runs.length > 1 ? `Time ${runs.length - index}` : ""} />
      ))}
      <Ways node={node} />
    </div>
  );
}

function Run({ run, values, title }: { run: ActionEntry | undefined; values: readonly Value[]; title: string }) {
  const made = run?.state === "finished" ? run.result : null;
  return (
    <div className="flow-run" data-testid="node-run">
      {title && <h4>{title}</h4>}
      {values.length > 0 && (
        <>
          <h4>Input</h4>
          <dl className="flow-values" data-testid="node-input">
            {values.map((one) => (
              <div key={one.name}>
                <dt>
                  {one.name} {one.from && <span className="dimmed">from {words(one.from)}</span>}
                </dt>
                <dd>{one.value === undefined ? <span className="dimmed">not known yet</span> : <Shown value={one.value} name={one.name} />}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
      {run?.error && <p className="problem">{run.error}</p>}
      {made !== null && made !== undefined && (
        <>
          <h4>Output</h4>
          {isObject(made) ? (
            <dl className="flow-values" data-testid="node-output">
              {Object.entries(made).map(([name, value]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <Shown value={value} name={name} />
                  </dd>
                </div>
              ))}
            </dl>
          ) : (
            <div data-testid="node-output">
              <Result result={made} />
            </div>
          )}
        </>
      )}
    </div>
  );
}

/** A short value in a line, a long one as far as it is asked for; a table by what it is. */
function Shown({ value, name }: { value: unknown; name: string }) {
  const table = tableOf(value);
  if (table) return <>{`a table: ${counted(table)}, ${table.columns.length} columns`}</>;
  const line = inline(value);
  if (line.length <= 80 && !line.includes("\n")) return <code>{line}</code>;
  return <Long value={value} label={name} />;
}

/** Where it may lead, and when. */
function Ways({ node: { spec } }: { node: NodeShown }) {
  if (spec.possible_next_nodes.length === 0) return <p className="dimmed">The flow ends here.</p>;
  return (
    <details className="flow-ways">
      <summary>What may follow</summary>
      <ul>
        {spec.possible_next_nodes.map((next, index) => (
          <li key={next}>
            {words(next)} <span className="dimmed">{spec.conditions[next] ? <>when <code>{spec.conditions[next]}</code></> : index === 0 ? "ordinarily" : "if planned"}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
