// Arguments as a list of names and values, and long text that expands.
import { UnstyledButton } from "@mantine/core";
import { useState } from "react";
import { fill, JOURNAL, TABLES } from "../words";
import { formatInline, formatPretty, truncate } from "./values";
import styles from "./Details.module.css";
import typography from "./typography.module.css";

export function Arguments({ values }: { values: Record<string, unknown> }) {
  const entries = Object.entries(values);
  if (entries.length === 0) return <p className={typography.dimmed}>{JOURNAL.no_arguments}</p>;
  return (
    <dl className={styles.arguments}>
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{formatInline(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

export function LongText({ value, label }: { value: unknown; label: string }) {
  const [isExpanded, setExpanded] = useState(false);
  const text = formatPretty(value);
  const short = truncate(text);
  return (
    <>
      <pre tabIndex={0} aria-label={label}>
        {isExpanded ? text : short}
        {!isExpanded && short !== text && "\n…"}
      </pre>
      {short !== text && (
        <UnstyledButton className={typography.link} onClick={() => setExpanded(!isExpanded)}>
          {isExpanded ? TABLES.show_less : fill(TABLES.show_lines, { count: text.split("\n").length.toLocaleString("en") })}
        </UnstyledButton>
      )}
    </>
  );
}
