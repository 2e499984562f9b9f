// One turn: its actions as they run, what came out, and the verdict.
import { Loader } from "@mantine/core";
import { clock } from "../ui/format";
import { Tone, type ToneName } from "../ui/Tone";
import type { ActionEntry, ActionState, Entry } from "./entries";

const TONES: Record<ActionState, ToneName> = {
  planned: "plain",
  approved: "plain",
  denied: "bad",
  started: "work",
  finished: "good",
  failed: "bad",
  skipped: "plain",
  uncertain: "wait",
};

export function TurnCard({ entry, by }: { entry: Extract<Entry, { kind: "turn" }>; by: string }) {
  const { verdict } = entry;
  return (
    <article className="card" data-testid="turn">
      <header className="card-head">
        <strong>{entry.subGoal}</strong>
        <span className="card-what">
          {by} · turn {entry.number}
        </span>
        <time dateTime={entry.at}>{clock(entry.at)}</time>
      </header>
      {entry.actions.map((action) => (
        <ActionShown key={action.spec.id} action={action} />
      ))}
      {verdict && (
        <p className="verdict" data-testid="verdict" data-status={verdict.status}>
          <Tone tone={verdict.status === "success" ? "good" : verdict.status === "partial" ? "wait" : "bad"}>{verdict.status}</Tone>
          {verdict.reasoning}
        </p>
      )}
    </article>
  );
}

function ActionShown({ action }: { action: ActionEntry }) {
  const { spec, state } = action;
  return (
    <div className="action" data-testid="action" data-state={state}>
      <p className="action-head">
        {state === "started" && <Loader size={12} aria-hidden="true" />}
        <Tone tone={TONES[state]}>{state === "started" ? "running" : state}</Tone>
        <code>{spec.tool}</code>
        {spec.tool !== "run_code" && spec.text}
        {action.seconds > 0 && <span className="dimmed">{action.seconds.toFixed(2)} s</span>}
      </p>
      {action.error && <p className="problem">{action.error}</p>}
      {action.result !== null && <Result result={action.result} />}
    </div>
  );
}

interface Ran {
  exit_code: number | null;
  stdout: string;
  stderr: string;
  ended: string;
  truncated: boolean;
}

function isRun(result: unknown): result is Partial<Ran> {
  return typeof result === "object" && result !== null && ("stdout" in result || "stderr" in result);
}

const ENDED: Record<string, string> = {
  timeout: "stopped: it took too long",
  output_limit: "stopped: it wrote too much",
  memory_limit: "stopped: it wanted too much memory",
  disk_limit: "stopped: it wrote too large files",
  killed: "ended by a signal",
};

function Result({ result }: { result: unknown }) {
  if (!isRun(result)) return <pre tabIndex={0}>{typeof result === "string" ? result : JSON.stringify(result, null, 2)}</pre>;
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
