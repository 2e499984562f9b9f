// A refusal, beside the control that caused it.
import { TROUBLE } from "../words";
import type { Notice } from "../state/state";
import typography from "./typography.module.css";

export function Problem({ error }: { error: Notice | null }) {
  if (!error) return null;
  const stale = error.code === "stale_version";
  return (
    <p className={typography.problem} role="alert" data-testid="error">
      {stale ? `${TROUBLE.stale_shown} ` : ""}
      {error.text} {error.hint}
    </p>
  );
}
