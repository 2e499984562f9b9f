// A query's result as a table: sortable columns, with paging.
import { ActionIcon } from "@mantine/core";
import { useState } from "react";
import { TABLES } from "../words";
import { LeftIcon, RightIcon } from "../ui/icons";
import { cellText, isNumericColumn, nextSorting, PAGE_SIZE, rowCountText, type Sorting, sortRows, type Table } from "./table";
import styles from "./ResultTable.module.css";
import typography from "../ui/typography.module.css";

export default function ResultTable({ table }: { table: Table }) {
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const [page, setPage] = useState(0);
  const rows = sortRows(table, sorting);
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_SIZE));
  const first = Math.min(page, pages - 1) * PAGE_SIZE;
  const isNumeric = table.columns.map((_, column) => isNumericColumn(table, column));
  return (
    <div className={styles.result} data-testid="result">
      <div className={styles.scroll} tabIndex={0} role="region" aria-label={`Result: ${rowCountText(table)}`}>
        <table>
          <thead>
            <tr>
              {table.columns.map((name, column) => (
                <ColumnHeader key={`${column} ${name}`} name={name} type={table.types[column]} isNumeric={isNumeric[column] ?? false} sorting={sorting?.column === column ? sorting : null} onPress={() => (setSorting(nextSorting(sorting, column)), setPage(0))} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(first, first + PAGE_SIZE).map((row, index) => (
              <tr key={first + index} data-testid="result-row">
                {table.columns.map((_, column) => (
                  <td key={column} className={isNumeric[column] ? styles.number : undefined}>
                    {row[column] === null || row[column] === undefined ? <span className={typography.dimmed}>–</span> : cellText(row[column])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        {rows.length === 0 && <p className={typography.hint}>{TABLES.no_rows}</p>}
      </div>
      {pages > 1 && (
        <div className={styles.pages}>
          <ActionIcon variant="default" size="md" aria-label={TABLES.rows_before} disabled={first === 0} onClick={() => setPage(page - 1)} data-testid="page-before">
            <LeftIcon size={15} />
          </ActionIcon>
          <span data-testid="page-shown" role="status">
            {(first + 1).toLocaleString("en")}–{Math.min(first + PAGE_SIZE, rows.length).toLocaleString("en")} of {rows.length.toLocaleString("en")}
          </span>
          <ActionIcon variant="default" size="md" aria-label={TABLES.rows_after} disabled={first + PAGE_SIZE >= rows.length} onClick={() => setPage(page + 1)} data-testid="page-after">
            <RightIcon size={15} />
          </ActionIcon>
        </div>
      )}
    </div>
  );
}

interface ColumnHeaderProps {
  name: string;
  type: string | undefined;
  isNumeric: boolean;
  sorting: Sorting | null;
  onPress: () => void;
}

function ColumnHeader({ name, type, isNumeric, sorting, onPress }: ColumnHeaderProps) {
  return (
    <th scope="col" className={isNumeric ? styles.number : undefined} aria-sort={sorting ? (sorting.descending ? "descending" : "ascending") : "none"}>
      <button type="button" onClick={onPress} title={type || undefined} data-testid="result-head">
        {name}
        <span aria-hidden="true">{sorting ? (sorting.descending ? " ▾" : " ▴") : ""}</span>
      </button>
    </th>
  );
}
