// The result of a data question as a chart or table, with a CSV download and its SQL.
import { Button, CopyButton, Loader, SegmentedControl } from "@mantine/core";
import { lazy, useEffect, useState } from "react";
import { useSession } from "../app/sessionContext";
import type { QueryResult } from "../flow/queryResult";
import { fill, SIGNS, TABLES, TROUBLE } from "../words";
import { fetchArtefact } from "../net/api";
import { LazyBoundary } from "../ui/LazyBoundary";
import { DownloadIcon } from "../ui/icons";
import { errorMessage } from "../ui/useFetch";
import { formatSeconds, isObject } from "../ui/values";
import { chartOf } from "./chart";
import { csvOf } from "./csv";
import ResultTable from "./ResultTable";
import { rowCountText, type Table, tableOf } from "./table";
import styles from "./DataResult.module.css";
import chartViewStyles from "./ChartView.module.css";
import codeStyles from "../code/code.module.css";
import detailsStyles from "../ui/Details.module.css";
import typography from "../ui/typography.module.css";

const ChartView = lazy(() => import("./ChartView"));
const SqlEditor = lazy(() => import("../code/SqlEditor"));

export default function DataResult({ result }: { result: QueryResult }) {
  const { table, problem, busy } = useFullTable(result);
  return (
    <div className={styles.result} data-testid="findings">
      {busy && <Loader size="sm" aria-label={SIGNS.loading} />}
      {problem && <p className={typography.problem}>{fill(TROUBLE.result, { why: problem })}</p>}
      {table && <ResultView table={table} kind={result.chart} />}
      {result.sql && <SqlDetails sql={result.sql} />}
    </div>
  );
}

function ResultView({ table, kind }: { table: Table; kind: string }) {
  const chart = chartOf(table, kind);
  const [view, setView] = useState<"chart" | "table">("chart");
  const asChart = chart !== null && view === "chart";
  return (
    <>
      <div className={styles.head}>
        {chart && (
          <SegmentedControl
            size="xs"
            aria-label={TABLES.show_as}
            value={view}
            onChange={(value) => setView(value as typeof view)}
            data={[
              { value: "chart", label: TABLES.chart },
              { value: "table", label: TABLES.table },
            ]}
            data-testid="chart-or-table"
          />
        )}
        <span className={typography.dimmed} data-testid="result-count">
          {rowCountText(table)}
          {table.seconds > 0 && ` · ${formatSeconds(table.seconds)}`}
        </span>
        <Button size="compact-sm" variant="default" leftSection={<DownloadIcon size={14} />} onClick={() => downloadCsv(table)} data-testid="csv">
          CSV
        </Button>
      </div>
      {asChart ? (
        <LazyBoundary fallback={<div className={chartViewStyles.waiting} />}>
          <ChartView chart={chart} />
        </LazyBoundary>
      ) : (
        <ResultTable table={table} />
      )}
    </>
  );
}

function SqlDetails({ sql }: { sql: string }) {
  const [opened, setOpened] = useState(false);
  return (
    <details className={detailsStyles.disclosure} onToggle={(event) => setOpened(event.currentTarget.open)} data-testid="sql">
      <summary>{TABLES.sql}</summary>
      {opened && (
        <>
          <LazyBoundary fallback={<pre className={codeStyles.waiting} data-loading>{sql}</pre>}>
            <SqlEditor value={sql} label={TABLES.sql} />
          </LazyBoundary>
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

/** Builds the file in the browser, from the loaded rows. */
function downloadCsv(table: Table): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csvOf(table.columns, table.rows)], { type: "text/csv;charset=utf-8" }));
  link.download = "result.csv";
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Loads a result that was too large for the journal. */
function useFullTable({ table, artefact }: QueryResult): { table: Table | null; problem: string; busy: boolean } {
  const sessionId = useSession(({ state }) => state.sessionId);
  const [loaded, setLoaded] = useState<{ table: Table | null; problem: string } | null>(null);
  const id = artefact ? `${sessionId} ${artefact.turn} ${artefact.actionId}` : "";
  useEffect(() => {
    const [sessionId, turn, actionId] = id.split(" ");
    if (!sessionId || !actionId) return;
    let isCancelled = false;
    fetchArtefact(sessionId, Number(turn), actionId)
      .then((value) => !isCancelled && setLoaded({ table: isObject(value) ? tableOf(value.result) : null, problem: "" }))
      .catch((error: unknown) => !isCancelled && setLoaded({ table: null, problem: errorMessage(error) }));
    return () => {
      isCancelled = true;
    };
  }, [id]);
  if (!artefact) return { table, problem: "", busy: false };
  return { table: loaded?.table ?? null, problem: loaded?.problem ?? "", busy: loaded === null };
}
