// What a call would change, before → after, as the executor tells it.
import { Loader } from "@mantine/core";
import type { Preview } from "../protocol";
import { inline, underOne } from "./values";

/** Not asked yet, being asked, or what came of asking. */
export type Asked = { preview: Preview } | { problem: string } | "asking";

export function Changes({ asked }: { asked: Asked }) {
  if (asked === "asking")
    return (
      <p className="dimmed" data-testid="preview" data-state="asking">
        <Loader size={12} aria-hidden="true" /> Looking what it would change…
      </p>
    );
  if ("problem" in asked) return <p className="hint" data-testid="preview" data-state="unknown">What it would change cannot be told now: {asked.problem}</p>;
  const { known, changes, error } = asked.preview;
  if (error)
    return (
      <p className="problem" data-testid="preview" data-state="refused">
        It would be refused: {error.replace(/^Error: /, "")}
      </p>
    );
  if (!known) return <p className="hint" data-testid="preview" data-state="unknown">This tool cannot tell beforehand what it changes.</p>;
  if (changes.length === 0) return <p className="hint" data-testid="preview" data-state="none">It would change nothing.</p>;
  const { common, names } = underOne(changes.map((change) => change.path));
  return (
    <table className="changes" data-testid="preview" data-state="known">
      <caption>What will change{common && ` in ${common}`}</caption>
      <thead className="sr-only">
        <tr>
          <th scope="col">What</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((change, index) => (
          <tr key={change.path} data-testid="change">
            <th scope="row">{names[index]}</th>
            <td className="change-before">{shown(change.before)}</td>
            <td className="change-after">
              <span aria-hidden="true">→ </span>
              {shown(change.after)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function shown(value: unknown): string {
  return value === null || value === undefined ? "not there" : inline(value);
}
