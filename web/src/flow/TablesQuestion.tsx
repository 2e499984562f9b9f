// Asks which tables the answer may use: a checklist with each table's reason and columns.
import { Button, Checkbox, TextInput } from "@mantine/core";
import { useState } from "react";
import { useCommand } from "../app/sessionContext";
import { isTexts, useDraft } from "../app/useDraft";
import { fill, PAGE, PATHS, TABLES } from "../words";
import type { QuestionSection } from "../protocol";
import { CheckIcon, SearchIcon } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { filterTables, type TableChoice, tablesAnswer } from "./tables";
import styles from "./TablesQuestion.module.css";
import buttons from "../ui/buttons.module.css";
import panelStyles from "../review/panel.module.css";
import typography from "../ui/typography.module.css";

const FILTER_THRESHOLD = 8; // more tables than this get a filter field

export default function TablesQuestion({ question, tables }: { question: QuestionSection; tables: readonly TableChoice[] }) {
  const command = useCommand();
  const proposed = tables.filter((table) => table.chosen).map((table) => table.name);
  const draft = useDraft(`answer ${question.question_id}`, proposed, isTexts);
  const selected = new Set(draft.value);
  const [query, setQuery] = useState("");
  const visible = filterTables(tables, query);
  const names = tables.map((table) => table.name).filter((name) => selected.has(name));
  const select = (name: string, isSelected: boolean) => {
    draft.set([...draft.value.filter((other) => other !== name), ...(isSelected ? [name] : [])]);
  };
  return (
    <form
      className={panelStyles.panel}
      data-testid="tables-question"
      aria-label={PAGE.question}
      onSubmit={(event) => {
        event.preventDefault();
        if (names.length > 0) command.send({ type: "answer", content: tablesAnswer(names), question_id: question.question_id });
      }}
    >
      <h2>{TABLES.ask}</h2>
      {tables.length > FILTER_THRESHOLD && (
        <TextInput
          type="search"
          aria-label={TABLES.filter}
          placeholder={TABLES.filter}
          leftSection={<SearchIcon size={16} />}
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
          data-testid="tables-filter"
        />
      )}
      <ul role="list" className={styles.list}>
        {visible.map((table) => (
          <li key={table.name} data-testid="table-choice">
            <Checkbox checked={selected.has(table.name)} onChange={(event) => select(table.name, event.currentTarget.checked)} label={<code>{table.name}</code>} description={table.reason || undefined} />
            {table.columns.length > 0 && <Columns table={table} />}
          </li>
        ))}
        {visible.length === 0 && <li className={typography.hint}>{TABLES.no_match}</li>}
      </ul>
      <div className={buttons.row}>
        <Button type="submit" leftSection={<CheckIcon />} disabled={names.length === 0} loading={command.busy} data-testid="tables-use">
          {names.length === 1 ? fill(TABLES.use_one, { table: names[0] ?? "" }) : fill(TABLES.use_many, { count: names.length })}
        </Button>
        <span className={typography.dimmed}>{PATHS.or_describe}</span>
      </div>
      <Problem error={command.error} />
    </form>
  );
}

function Columns({ table }: { table: TableChoice }) {
  return (
    <details className={styles.columns}>
      <summary className={typography.dimmed}>{fill(table.columns.length === 1 ? TABLES.column : TABLES.columns, { count: table.columns.length })}</summary>
      <ul role="list">
        {table.columns.map((column) => (
          <li key={column}>
            <code>{column}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}
