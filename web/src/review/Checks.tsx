// What was looked at, and the tests of code. What could not be looked at here, or is a note, is neither good nor bad.
import { REVIEW } from "../generated/words";
import type { Check } from "../protocol";

/** By what came of the check. */
const MARKS = { true: "✓", false: "✗", null: "–" };

export const markOf = ({ ok }: Check): string => MARKS[`${ok}`];

export function wordOf(check: Check, neither: string = REVIEW.check_skipped): string {
  return check.ok === null ? neither : check.ok ? REVIEW.check_passed : REVIEW.check_failed;
}

interface Props {
  checks: readonly Check[];
  tests?: string;
  /** Of a check that is neither good nor bad. */
  neither?: string;
}

export function Checks({ checks, tests = "", neither = REVIEW.check_skipped }: Props) {
  if (checks.length === 0 && !tests) return null;
  return (
    <div className="checks" data-testid="checks" role="group" aria-label={REVIEW.checks}>
      {checks.map((check) => (
        <details key={check.name} className="check" data-ok={String(check.ok)} data-testid="check" open={check.ok === false && !!check.detail}>
          <summary>
            <span aria-hidden="true">{markOf(check)}</span> {check.name} <span className="dimmed">{wordOf(check, neither)}</span>
          </summary>
          <pre tabIndex={0}>{check.detail || REVIEW.no_report}</pre>
        </details>
      ))}
      {tests && (
        <details className="check" data-testid="tests">
          <summary>{REVIEW.tests}</summary>
          <pre tabIndex={0}>{tests}</pre>
        </details>
      )}
    </div>
  );
}
