// The session rests: run what was approved, take it home, go on, or be done.
import { Button, TagsInput, Textarea } from "@mantine/core";
import { useState } from "react";
import { useAct, useCan, useSession } from "../app/session";
import { exportUrl } from "../net/api";
import { Check, Download, PlaySign } from "../ui/icons";
import { Problem } from "../ui/Problem";

export function NextPanel() {
  const { state } = useSession();
  const can = useCan();
  const choosing = useAct();
  const completing = useAct();
  const { snapshot } = state;
  if (!snapshot || snapshot.phase !== "resting") return null;
  const { code } = snapshot;
  const approved = code?.status === "approved";
  // Running and completing have buttons of their own, which exist only where they work.
  const options = snapshot.next?.options.filter((option) => !/^(run|complete)/i.test(option)) ?? [];
  return (
    <section className="panel next" data-testid="next" aria-label="What next">
      {approved && can("run") && state.greeting?.can_run_code && <RunForm />}
      {approved && state.greeting && !state.greeting.can_run_code && (
        <p className="hint" data-testid="cannot-run">
          Code is run only inside a sandbox, and this machine offers none. Download it and run it where you trust it.
        </p>
      )}
      <div className="decision-buttons">
        {approved && (
          <Button component="a" href={exportUrl(snapshot.session_id, "py")} download variant="default" leftSection={<Download />} data-testid="download">
            Download
          </Button>
        )}
        {can("continue") &&
          options.map((option) => (
            <Button key={option} variant="default" data-testid="continue-option" loading={choosing.busy} onClick={() => choosing.send({ type: "continue", content: option })}>
              {option}
            </Button>
          ))}
        {can("complete") && (
          <Button variant="light" color="teal" leftSection={<Check />} data-testid="complete" loading={completing.busy} onClick={() => completing.send({ type: "complete" })}>
            Complete this task
          </Button>
        )}
      </div>
      <Problem error={choosing.error ?? completing.error} />
    </section>
  );
}

function RunForm() {
  const act = useAct();
  const [stdin, setStdin] = useState("");
  const [args, setArgs] = useState<string[]>([]);
  return (
    <div className="run">
      <div className="decision-buttons">
        <Button leftSection={<PlaySign />} data-testid="run" loading={act.busy} onClick={() => act.send({ type: "run", stdin, args })}>
          Run the code
        </Button>
        <span className="dimmed">in the sandbox: no network, no files of yours</span>
      </div>
      <details>
        <summary>Input and arguments</summary>
        <Textarea label="Standard input" autosize minRows={2} maxRows={8} maxLength={50_000} value={stdin} onChange={(event) => setStdin(event.currentTarget.value)} data-testid="run-stdin" />
        <TagsInput label="Arguments" description="Enter after each" maxTags={20} value={args} onChange={setArgs} data-testid="run-args" />
      </details>
      <Problem error={act.error} />
    </div>
  );
}
