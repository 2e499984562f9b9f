// A preview of the changes of a call, before → after, from the executor.
import { Loader, VisuallyHidden } from "@mantine/core";
import { fill, REVIEW } from "../words";
import type { Preview } from "../protocol";
import { formatInline, splitCommonPrefix } from "./values";
import styles from "./Changes.module.css";
import typography from "./typography.module.css";

/** A preview that is loading, loaded, or failed. */
export type PreviewState = { preview: Preview } | { problem: string } | "loading";

/** `now`: the preview was made before earlier steps have run, so the data may still change. */
export function Changes({ state, now = false }: { state: PreviewState; now?: boolean }) {
  if (state === "loading")
    return (
      <p className={typography.dimmed} data-testid="preview" data-state="asking">
        <Loader size={12} aria-hidden="true" /> {REVIEW.preview_asking}
      </p>
    );
  if ("problem" in state) return <p className={typography.hint} data-testid="preview" data-state="unknown">{REVIEW.preview_unavailable} {state.problem}</p>;
  const { known, changes, error } = state.preview;
  if (error)
    return (
      <p className={typography.problem} data-testid="preview" data-state="refused">
        {fill(now ? REVIEW.preview_error_now : REVIEW.preview_error, { why: error.replace(/^Error: /, "") })}
      </p>
    );
  if (!known) return <p className={typography.hint} data-testid="preview" data-state="unknown">{REVIEW.preview_unknown}</p>;
  if (changes.length === 0) return <p className={typography.hint} data-testid="preview" data-state="none">{REVIEW.preview_none}</p>;
  const { common, names } = splitCommonPrefix(changes.map((change) => change.path));
  return (
    <table className={styles.changes} data-testid="preview" data-state="known">
      <caption>{common ? fill(now ? REVIEW.preview_now_in : REVIEW.preview_title_in, { where: common }) : now ? REVIEW.preview_now : REVIEW.preview_title}</caption>
      <thead>
        <tr>
          <th scope="col">
            <VisuallyHidden>{REVIEW.what}</VisuallyHidden>
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
            <td className={styles.before}>{formatChange(change.before)}</td>
            <td className={styles.after}>{formatChange(change.after)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function formatChange(value: unknown): string {
  return value === null || value === undefined ? REVIEW.empty : formatInline(value);
}
