// What a tool returned: a program's output as such, anything else pretty.
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

const ENDED: Record<string, string> = {
  timeout: "stopped: it took too long",
  output_limit: "stopped: it wrote too much",
  memory_limit: "stopped: it wanted too much memory",
  disk_limit: "stopped: it wrote too large files",
  killed: "ended by a signal",
};

export function Result({ result }: { result: unknown }) {
  if (!isRun(result)) return <Long value={result} label="Result" />;
  const how = (result.ended && ENDED[result.ended]) || (result.exit_code === undefined ? "" : `exit code ${result.exit_code}`);
  return (
    <div className="run-output" data-testid="run-output">
      {result.stdout ? <pre tabIndex={0} aria-label="Standard output">{result.stdout}</pre> : <p className="dimmed">It wrote nothing.</p>}
      {result.stderr && (
        <pre tabIndex={0} className="run-stderr" aria-label="Standard error">
          {result.stderr}
        </pre>
      )}
      <p className="dimmed">
        {how}
        {result.truncated ? " · the output is cut" : ""}
      </p>
    </div>
  );
}
