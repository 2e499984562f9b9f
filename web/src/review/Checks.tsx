// What the verifier looked at, and the tests it wrote.
import type { Check } from "../protocol";

export function Checks({ checks, tests }: { checks: readonly Check[]; tests: string }) {
  if (checks.length === 0 && !tests) return null;
  return (
    <div className="checks" data-testid="checks" role="group" aria-label="Checks">
      {checks.map((check) => (
        <details key={check.name} className="check" data-ok={check.ok} data-testid="check" open={!check.ok && !!check.detail}>
          <summary>
            <span aria-hidden="true">{check.ok ? "✓" : "✗"}</span> {check.name} <span className="dimmed">{check.ok ? "passed" : "not passed"}</span>
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
