// Arguments as a list of names and values; results pretty, long ones by their beginning.
import { UnstyledButton } from "@mantine/core";
import { useState } from "react";
import { fill, JOURNAL, TABLES } from "../generated/words";
import { beginning, inline, pretty } from "./values";

export function Arguments({ values }: { values: Record<string, unknown> }) {
  const all = Object.entries(values);
  if (all.length === 0) return <p className="dimmed">{JOURNAL.no_arguments}</p>;
  return (
    <dl className="arguments">
      {all.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{inline(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Long({ value, label }: { value: unknown; label: string }) {
  const [whole, setWhole] = useState(false);
  const text = pretty(value);
  const short = beginning(text);
  return (
    <>
      <pre tabIndex={0} aria-label={label}>
        {whole ? text : short}
        {!whole && short !== text && "\n…"}
      </pre>
      {short !== text && (
        <UnstyledButton className="link" onClick={() => setWhole(!whole)}>
          {whole ? TABLES.show_less : fill(TABLES.show_lines, { count: text.split("\n").length.toLocaleString("en") })}
        </UnstyledButton>
      )}
    </>
  );
}
