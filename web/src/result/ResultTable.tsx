// A query's result as a table: sorted by a press on a column's head, in pages, taken along as CSV.
import { ActionIcon } from "@mantine/core";
import { useState } from "react";
import { TABLES } from "../generated/words";
import { Left, Right } from "../ui/icons";
import { counted, numeric, PAGE, pressed, shown, sorted, type Sorting, type Table } from "./table";

export default function ResultTable({ table }: { table: Table }) {
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const [page, setPage] = useState(0);
  const rows = sorted(table.rows, sorting);
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const first = Math.min(page, pages - 1) * PAGE;
  const right = table.columns.map((_, column) => numeric(table, column));
  return (
    <div className="result" data-testid="result">
      <div className="result-scroll" tabIndex={0} role="region" aria-label={`Result: ${counted(table)}`}>
        <table>
          <thead>
            <tr>
              {table.columns.map((name, column) => (
                <Head key={`${column} ${name}`} name={name} type={table.types[column]} right={right[column] ?? false} sorting={sorting?.column === column ? sorting : null} onPress={() => (setSorting(pressed(sorting, column)), setPage(0))} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(first, first + PAGE).map((row, index) => (
              <tr key={first + index} data-testid="result-row">
                {table.columns.map((name, column) => (
                  <td key={column} className={right[column] ? "number" : undefined}>
                    {row[column] === null || row[column] === undefined ? <span className="dimmed">–</span> : shown(row[column], name)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        {rows.length === 0 && <p className="hint">{TABLES.no_rows}</p>}
      </div>
      {pages > 1 && (
        <div className="result-pages">
          <ActionIcon variant="default" size="md" aria-label={TABLES.rows_before} disabled={first === 0} onClick={() => setPage(page - 1)} data-testid="page-before">
            <Left size={15} />
          </ActionIcon>
          <span data-testid="page-shown" role="status">
            {(first + 1).toLocaleString("en")}–{Math.min(first + PAGE, rows.length).toLocaleString("en")} of {rows.length.toLocaleString("en")}
          </span>
          <ActionIcon variant="default" size="md" aria-label={TABLES.rows_after} disabled={first + PAGE >= rows.length} onClick={() => setPage(page + 1)} data-testid="page-after">
            <Right size={15} />
          </ActionIcon>
        </div>
      )}
    </div>
  );
}

interface HeadProps {
  name: string;
  type: string | undefined;
  right: boolean;
  sorting: Sorting | null;
  onPress: () => void;
}

function Head({ name, type, right, sorting, onPress }: HeadProps) {
  return (
    <th scope="col" className={right ? "number" : undefined} aria-sort={sorting ? (sorting.down ? "descending" : "ascending") : "none"}>
      <button type="button" onClick={onPress} title={type || undefined} data-testid="result-head">
        {name}
        <span aria-hidden="true">{sorting ? (sorting.down ? " ▾" : " ▴") : ""}</span>
      </button>
    </th>
  );
}
