// The result of a tool: program output as such, anything else pretty-printed.
import { fill, JOURNAL, RUN_ENDED, wordFor } from "../words";
import { LongText } from "../ui/Details";
import styles from "./Result.module.css";
import typography from "../ui/typography.module.css";

interface ProgramRun {
  exit_code: number | null;
  stdout: string;
  stderr: string;
  ended: string;
  truncated: boolean;
}

export function isProgramRun(result: unknown): result is Partial<ProgramRun> {
  return typeof result === "object" && result !== null && ("stdout" in result || "stderr" in result);
}

export function Result({ result }: { result: unknown }) {
  if (!isProgramRun(result)) return <LongText value={result} label={JOURNAL.result} />;
  const outcome = (result.ended && wordFor(RUN_ENDED, result.ended)) || (result.exit_code === undefined ? "" : fill(JOURNAL.exit_code, { code: String(result.exit_code) }));
  return (
    <div className={styles.runOutput} data-testid="run-output">
      {result.stdout ? <pre tabIndex={0} aria-label={JOURNAL.stdout}>{result.stdout}</pre> : <p className={typography.dimmed}>{JOURNAL.no_output}</p>}
      {result.stderr && (
        <pre tabIndex={0} className={styles.runStderr} aria-label={JOURNAL.stderr}>
          {result.stderr}
        </pre>
      )}
      <p className={typography.dimmed}>
        {outcome}
        {result.truncated ? ` · ${JOURNAL.cut}` : ""}
      </p>
    </div>
  );
}
