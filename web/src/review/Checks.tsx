// What the verifier looked at, and the tests it wrote. What could not be looked at here is neither good nor bad.
import type { Check } from "../protocol";

export const MARKS = { passed: "✓", "not passed": "✗", "could not be done": "–" };

export function wordOf(check: Check): keyof typeof MARKS {
  return check.ok === null ? "could not be done" : check.ok ? "passed" : "not passed";
}

export function Checks({ checks, tests }: { checks: readonly Check[]; tests: string }) {
  if (checks.length === 0 && !tests) return null;
  const shown = checks.map((check) => ({ check, word: wordOf(check) }));
  return (
    <div className="checks" data-testid="checks" role="group" aria-label="Checks">
      {shown.map(({ check, word }) => (
        <details key={check.name} className="check" data-ok={String(check.ok)} data-testid="check" open={check.ok === false && !!check.detail}>
          <summary>
            <span aria-hidden="true">{MARKS[word]}</span> {check.name} <span className="dimmed">{word}</span>
          </summary>
          <pre tabIndex={0}>{check.detail || "Nothing to report."}</pre>
        </details>
      ))}
      {tests && (
        <details className="check" data-testid="tests">
          <summary>The tests</summary>
          <pre tabIndex={0}>{tests}</pre>
        </details>
      )}
    </div>
  );
}
