// One node: what it is for, and for each time it ran what it was given and what it made.
import { fill, PATHS, TABLES } from "../generated/words";
import type { ActionEntry } from "../journal/entries";
import { Result } from "../journal/Result";
import { Long } from "../ui/Details";
import { inline } from "../ui/values";
import { tableOf, counted } from "../result/table";
import { isObject } from "./found";
import { titleOf, words } from "./spec";
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
    <div className="flow-panel" data-testid="node-panel" role="region" aria-label={titleOf(spec)}>
      <h3>{titleOf(spec)}</h3>
      <p>{spec.description}</p>
      <p className="dimmed">
        {[node.state === "walked" ? spent(node) : saying(node), spec.asks && PATHS.answers, spec.effect !== "read" && spec.effect, spec.confirm && PATHS.shown_first].filter(Boolean).join(" · ")}
      </p>
      {left && (
        <p className="flow-left" data-testid="node-left">
          {fill(PATHS.left_here, { why: left })}
        </p>
      )}
      {times.map((run, index) => (
        <Run key={run?.spec.id ?? "none"} run={run} values={inputsOf(spec, walk.flow, turn, run, beginning)} title={runs.length > 1 ? fill(PATHS.time, { number: runs.length - index }) : ""} />
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
          <h4>{PATHS.input}</h4>
          <dl className="flow-values" data-testid="node-input">
            {values.map((one) => (
              <div key={one.name}>
                <dt>
                  {one.name} {one.from && <span className="dimmed">{fill(PATHS.from, { name: words(one.from) })}</span>}
                </dt>
                <dd>{one.value === undefined ? <span className="dimmed">{PATHS.unknown_value}</span> : <Shown value={one.value} name={one.name} />}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
      {run?.error && <p className="problem">{run.error}</p>}
      {made !== null && made !== undefined && (
        <>
          <h4>{PATHS.output}</h4>
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
  if (table) return <>{fill(TABLES.table_value, { rows: counted(table), columns: table.columns.length })}</>;
  const line = inline(value);
  if (line.length <= 80 && !line.includes("\n")) return <code>{line}</code>;
  return <Long value={value} label={name} />;
}

/** Where it may lead, and when. */
function Ways({ node: { spec } }: { node: NodeShown }) {
  if (spec.possible_next_nodes.length === 0) return <p className="dimmed">{PATHS.end}</p>;
  return (
    <details className="flow-ways">
      <summary>{PATHS.next_steps}</summary>
      <ul>
        {spec.possible_next_nodes.map((next, index) => (
          <li key={next}>
            {words(next)} <span className="dimmed">{spec.conditions[next] ? <>{PATHS.when} <code>{spec.conditions[next]}</code></> : index === 0 ? PATHS.whole : PATHS.if_planned}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
