// The session rests: run what was approved, take it home, go on, or be done.
import { Button, TagsInput, Textarea } from "@mantine/core";
import { lazy, Suspense, useState } from "react";
import { useAct, useCan, useSession } from "../app/session";
import { Judge } from "../flow/Judge";
import { ACTIONS, COMPOSER, named, OPTIONS, REVIEW, TEMPLATES } from "../generated/words";
import { exportUrl } from "../net/api";
import { Book, Check, Download, PlaySign } from "../ui/icons";
import { Problem } from "../ui/Problem";

const SaveTemplate = lazy(() => import("../templates/SaveTemplate"));

export function NextPanel() {
  const { state } = useSession();
  const can = useCan();
  const { snapshot } = state;
  if (!snapshot || snapshot.phase !== "resting") return null;
  const { code } = snapshot;
  const approved = code?.status === "approved";
  if (snapshot.reason !== "stopped" && can("retry")) return null; // its plan is not finished: that is shown with these buttons
  return (
    <section className="panel next" data-testid="next" aria-label={COMPOSER.next}>
      {approved && can("run") && state.greeting?.can_run_code && <RunForm />}
      {approved && state.greeting && !state.greeting.can_run_code && (
        <p className="hint" data-testid="cannot-run">
          {REVIEW.sandbox_missing}
        </p>
      )}
      <div className="decision-buttons">
        {approved && (
          <Button component="a" href={exportUrl(snapshot.session_id, "py")} download variant="default" leftSection={<Download />} data-testid="download">
            {ACTIONS.download}
          </Button>
        )}
        <NextButtons />
        {snapshot.plan?.kind === "execution" && <SaveTemplateButton sessionId={snapshot.session_id} />}
      </div>
      {approved && !snapshot.answer && can("judge") && <JudgeProgram />}
    </section>
  );
}

function SaveTemplateButton({ sessionId }: { sessionId: string }) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button variant="default" leftSection={<Book />} onClick={() => setOpened(true)} data-testid="template-new">
        {TEMPLATES.save}
      </Button>
      {opened && (
        <Suspense>
          <SaveTemplate sessionId={sessionId} source="plan" onClose={() => setOpened(false)} />
        </Suspense>
      )}
    </>
  );
}

/** Ask for something else, or be done. */
export function NextButtons() {
  const { state } = useSession();
  const can = useCan();
  const completing = useAct();
  // Running and completing have buttons of their own, which exist only where they work.
  const options = state.snapshot?.next?.options.filter((option) => !/^(run|complete)/i.test(option)) ?? [];
  return (
    <>
      {can("continue") &&
        options.map((option) => (
          <Button key={option} variant="default" data-testid="continue-option" onClick={() => document.querySelector<HTMLElement>("#composer textarea")?.focus()}>
            {named(OPTIONS, option) ?? option}
          </Button>
        ))}
      {can("complete") && (
        <Button variant="light" color="teal" leftSection={<Check />} data-testid="complete" loading={completing.busy} onClick={() => completing.send({ type: "complete" })}>
          {ACTIONS.done}
        </Button>
      )}
      <Problem error={completing.error} />
    </>
  );
}

/** An approved program is the answer, which no event tells: what was last said of it counts. */
function JudgeProgram() {
  const { state } = useSession();
  const last = state.events.findLast((event) => event.type === "answer.judged" || event.type === "plan.drafted");
  const judged = last?.type === "answer.judged" ? last : { accepted: false, saved: false };
  return <Judge accepted={judged.accepted} saved={judged.saved ?? false} newest />;
}

function RunForm() {
  const act = useAct();
  const [stdin, setStdin] = useState("");
  const [args, setArgs] = useState<string[]>([]);
  return (
    <div className="run">
      <div className="decision-buttons">
        <Button leftSection={<PlaySign />} data-testid="run" loading={act.busy} onClick={() => act.send({ type: "run", stdin, args })}>
          {ACTIONS.run_code}
        </Button>
        <span className="dimmed">{REVIEW.sandboxed}</span>
      </div>
      <details>
        <summary>{REVIEW.input_and_arguments}</summary>
        <Textarea label={REVIEW.input} autosize minRows={2} maxRows={8} maxLength={50_000} value={stdin} onChange={(event) => setStdin(event.currentTarget.value)} data-testid="run-stdin" />
        <TagsInput label={REVIEW.arguments} description={REVIEW.arguments_hint} maxTags={20} value={args} onChange={setArgs} data-testid="run-args" />
      </details>
      <Problem error={act.error} />
    </div>
  );
}
