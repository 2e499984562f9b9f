// What a tool returned: a program's output as such, anything else pretty.
import { fill, JOURNAL, named, RUN_ENDED } from "../generated/words";
import { Long } from "../ui/Details";

interface Ran {
  exit_code: number | null;
  stdout: string;
  stderr: string;
  ended: string;
  truncated: boolean;
}

export function isRun(result: unknown): result is Partial<Ran> {
  return typeof result === "object" && result !== null && ("stdout" in result || "stderr" in result);
}

export function Result({ result }: { result: unknown }) {
  if (!isRun(result)) return <Long value={result} label={JOURNAL.result} />;
  const how = (result.ended && named(RUN_ENDED, result.ended)) || (result.exit_code === undefined ? "" : fill(JOURNAL.exit_code, { code: String(result.exit_code) }));
  return (
    <div className="run-output" data-testid="run-output">
      {result.stdout ? <pre tabIndex={0} aria-label={JOURNAL.stdout}>{result.stdout}</pre> : <p className="dimmed">{JOURNAL.no_output}</p>}
      {result.stderr && (
        <pre tabIndex={0} className="run-stderr" aria-label={JOURNAL.stderr}>
          {result.stderr}
        </pre>
      )}
      <p className="dimmed">
        {how}
        {result.truncated ? ` · ${JOURNAL.cut}` : ""}
      </p>
    </div>
  );
}
