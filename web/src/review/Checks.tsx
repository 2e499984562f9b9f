// Checks of a plan or of code, and the code's tests. A skipped check or a note is neutral.
import { REVIEW } from "../words";
import type { Check } from "../protocol";
import styles from "./Checks.module.css";
import typography from "../ui/typography.module.css";

/** By the result of the check. */
const MARKS = { true: "✓", false: "✗", null: "–" };

export const checkMark = ({ ok }: Check): string => MARKS[`${ok}`];

export function checkWord(check: Check, neutralWord: string = REVIEW.check_skipped): string {
  return check.ok === null ? neutralWord : check.ok ? REVIEW.check_passed : REVIEW.check_failed;
}

interface Props {
  checks: readonly Check[];
  tests?: string;
  /** The word for a neutral check. */
  neutralWord?: string;
}

export function Checks({ checks, tests = "", neutralWord = REVIEW.check_skipped }: Props) {
  if (checks.length === 0 && !tests) return null;
  return (
    <div className={styles.checks} data-testid="checks" role="group" aria-label={REVIEW.checks}>
      {checks.map((check) => (
        <details key={check.name} className={styles.check} data-ok={String(check.ok)} data-testid="check" open={check.ok === false && !!check.detail}>
          <summary>
            <span aria-hidden="true">{checkMark(check)}</span> {check.name} <span className={typography.dimmed}>{checkWord(check, neutralWord)}</span>
          </summary>
          <pre tabIndex={0}>{check.detail || REVIEW.no_report}</pre>
        </details>
      ))}
      {tests && (
        <details className={styles.check} data-testid="tests">
          <summary>{REVIEW.tests}</summary>
          <pre tabIndex={0}>{tests}</pre>
        </details>
      )}
    </div>
  );
}
