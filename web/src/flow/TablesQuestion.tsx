// Which tables the answer may rest on: a list to tick, with why each was proposed and what it holds.
import { Button, Checkbox, TextInput } from "@mantine/core";
import { useState } from "react";
import { useAct } from "../app/session";
import { fill, PAGE, PATHS, TABLES } from "../generated/words";
import type { QuestionSection } from "../protocol";
import { Check, Search } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { answerOf, filtered, type TableChoice } from "./tables";

const FEW = 8; // so many are seen at once

export default function TablesQuestion({ question, tables }: { question: QuestionSection; tables: readonly TableChoice[] }) {
  const act = useAct();
  const [ticked, setTicked] = useState(() => new Set(tables.filter((one) => one.chosen).map((one) => one.name)));
  const [query, setQuery] = useState("");
  const shown = filtered(tables, query);
  const names = tables.map((one) => one.name).filter((name) => ticked.has(name));
  const tick = (name: string, on: boolean) => {
    const next = new Set(ticked);
    if (on) next.add(name);
    else next.delete(name);
    setTicked(next);
  };
  return (
    <form
      className="panel panel-question"
      data-testid="tables-question"
      aria-label={PAGE.question}
      onSubmit={(event) => {
        event.preventDefault();
        if (names.length > 0) act.send({ type: "answer", content: answerOf(names), question_id: question.question_id });
      }}
    >
      <h2>{TABLES.ask}</h2>
      {tables.length > FEW && (
        <TextInput
          type="search"
          aria-label={TABLES.filter}
          placeholder={TABLES.filter}
          leftSection={<Search size={16} />}
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
          data-testid="tables-filter"
        />
      )}
      <ul className="tables-list">
        {shown.map((one) => (
          <li key={one.name} data-testid="table-choice">
            <Checkbox checked={ticked.has(one.name)} onChange={(event) => tick(one.name, event.currentTarget.checked)} label={<code>{one.name}</code>} description={one.reason || undefined} />
            {one.columns.length > 0 && <Columns table={one} />}
          </li>
        ))}
        {shown.length === 0 && <li className="hint">{TABLES.no_match}</li>}
      </ul>
      <div className="decision-buttons">
        <Button type="submit" leftSection={<Check />} disabled={names.length === 0} loading={act.busy} data-testid="tables-use">
          {names.length === 1 ? fill(TABLES.use_one, { table: names[0] ?? "" }) : fill(TABLES.use_many, { count: names.length })}
        </Button>
        <span className="dimmed">{PATHS.or_describe}</span>
      </div>
      <Problem error={act.error} />
    </form>
  );
}

function Columns({ table }: { table: TableChoice }) {
  return (
    <details className="tables-columns">
      <summary className="dimmed">{fill(table.columns.length === 1 ? TABLES.column : TABLES.columns, { count: table.columns.length })}</summary>
      <ul>
        {table.columns.map((column) => (
          <li key={column}>
            <code>{column}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}
