// What a question to the data came to: the result as a chart or table, to take along, and the SQL behind it.
import { Button, CopyButton, Loader, SegmentedControl } from "@mantine/core";
import { lazy, Suspense, useEffect, useState } from "react";
import { useSession } from "../app/session";
import type { Found } from "../flow/found";
import { isObject } from "../flow/found";
import { fill, SIGNS, TABLES, TROUBLE } from "../generated/words";
import { wholeResult } from "../net/api";
import { Download } from "../ui/icons";
import { seconds } from "../ui/values";
import { chartOf } from "./chart";
import { csvOf } from "./csv";
import ResultTable from "./ResultTable";
import { counted, tableOf, type Table } from "./table";

const ChartView = lazy(() => import("./ChartView"));
const SqlEditor = lazy(() => import("../code/SqlEditor"));

export default function Findings({ found }: { found: Found }) {
  const { table, problem, busy } = useWhole(found);
  return (
    <div className="findings" data-testid="findings">
      {busy && <Loader size="sm" aria-label={SIGNS.loading} />}
      {problem && <p className="problem">{fill(TROUBLE.result, { why: problem })}</p>}
      {table && <Shown table={table} kind={found.chart} />}
      {found.sql && <Sql sql={found.sql} />}
    </div>
  );
}

function Shown({ table, kind }: { table: Table; kind: string }) {
  const chart = chartOf(table, kind);
  const [wanted, want] = useState<"chart" | "table">("chart");
  const asChart = chart !== null && wanted === "chart";
  return (
    <>
      <div className="findings-head">
        {chart && (
          <SegmentedControl
            size="xs"
            aria-label={TABLES.show_as}
            value={wanted}
            onChange={(value) => want(value as typeof wanted)}
            data={[
              { value: "chart", label: TABLES.chart },
              { value: "table", label: TABLES.table },
            ]}
            data-testid="chart-or-table"
          />
        )}
        <span className="dimmed" data-testid="result-count">
          {counted(table)}
          {table.seconds > 0 && ` · ${seconds(table.seconds)}`}
        </span>
        <Button size="compact-sm" variant="default" leftSection={<Download size={14} />} onClick={() => save(table)} data-testid="csv">
          CSV
        </Button>
      </div>
      {asChart ? (
        <Suspense fallback={<div className="chart-waiting" />}>
          <ChartView chart={chart} />
        </Suspense>
      ) : (
        <ResultTable table={table} />
      )}
    </>
  );
}

function Sql({ sql }: { sql: string }) {
  const [opened, setOpened] = useState(false);
  return (
    <details className="thoughts" onToggle={(event) => setOpened(event.currentTarget.open)} data-testid="sql">
      <summary>{TABLES.sql}</summary>
      {opened && (
        <>
          <Suspense fallback={<pre className="code-waiting">{sql}</pre>}>
            <SqlEditor value={sql} label={TABLES.sql} />
          </Suspense>
          <CopyButton value={sql}>
            {({ copied, copy }) => (
              <Button size="compact-sm" variant="default" onClick={copy} data-testid="sql-copy">
                {copied ? TABLES.copied : TABLES.copy}
              </Button>
            )}
          </CopyButton>
        </>
      )}
    </details>
  );
}

/** The file is made here, of all rows that are at hand. */
function save(table: Table): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csvOf(table.columns, table.rows)], { type: "text/csv;charset=utf-8" }));
  link.download = "result.csv";
  link.click();
  URL.revokeObjectURL(link.href);
}

/** A result that was too large for the journal is asked for. */
function useWhole({ table, whole }: Found): { table: Table | null; problem: string; busy: boolean } {
  const { state } = useSession();
  const [read, setRead] = useState<{ table: Table | null; problem: string } | null>(null);
  const id = whole ? `${state.sessionId} ${whole.turn} ${whole.actionId}` : "";
  useEffect(() => {
    const [sessionId, turn, actionId] = id.split(" ");
    if (!sessionId || !actionId) return;
    let gone = false;
    wholeResult(sessionId, Number(turn), actionId)
      .then((value) => !gone && setRead({ table: isObject(value) ? tableOf(value.result) : null, problem: "" }))
      .catch((error: unknown) => !gone && setRead({ table: null, problem: error instanceof Error ? error.message : String(error) }));
    return () => {
      gone = true;
    };
  }, [id]);
  if (!whole) return { table, problem: "", busy: false };
  return { table: read?.table ?? null, problem: read?.problem ?? "", busy: read === null };
}
