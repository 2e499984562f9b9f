// What a call would change, before → after, as the executor tells it.
import { Loader } from "@mantine/core";
import { fill, REVIEW } from "../generated/words";
import type { Preview } from "../protocol";
import { inline, underOne } from "./values";

/** Not asked yet, being asked, or what came of asking. */
export type Asked = { preview: Preview } | { problem: string } | "asking";

/** `now`: it is looked up before the call's turn has come, and may be another then. */
export function Changes({ asked, now = false }: { asked: Asked; now?: boolean }) {
  if (asked === "asking")
    return (
      <p className="dimmed" data-testid="preview" data-state="asking">
        <Loader size={12} aria-hidden="true" /> {REVIEW.preview_asking}
      </p>
    );
  if ("problem" in asked) return <p className="hint" data-testid="preview" data-state="unknown">{REVIEW.preview_unavailable} {asked.problem}</p>;
  const { known, changes, error } = asked.preview;
  if (error)
    return (
      <p className="problem" data-testid="preview" data-state="refused">
        {fill(now ? REVIEW.preview_error_now : REVIEW.preview_error, { why: error.replace(/^Error: /, "") })}
      </p>
    );
  if (!known) return <p className="hint" data-testid="preview" data-state="unknown">{REVIEW.preview_unknown}</p>;
  if (changes.length === 0) return <p className="hint" data-testid="preview" data-state="none">{REVIEW.preview_none}</p>;
  const { common, names } = underOne(changes.map((change) => change.path));
  return (
    <table className="changes" data-testid="preview" data-state="known">
      <caption>{common ? fill(now ? REVIEW.preview_now_in : REVIEW.preview_title_in, { where: common }) : now ? REVIEW.preview_now : REVIEW.preview_title}</caption>
      <thead>
        <tr>
          <th scope="col">
            <span className="sr-only">{REVIEW.what}</span>
          </th>
          <th scope="col">{REVIEW.before}</th>
          <th scope="col">{REVIEW.after}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((change, index) => (
          <tr key={change.path} data-testid="change">
            <th scope="row" title={names[index]}>
              {change.label || names[index]?.replaceAll("_", " ")}
            </th>
            <td className="change-before">{shown(change.before)}</td>
            <td className="change-after">{shown(change.after)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function shown(value: unknown): string {
  return value === null || value === undefined ? REVIEW.empty : inline(value);
}
