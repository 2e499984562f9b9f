// The next steps of a resting session: run the code, download it, continue, or finish.
import { Button, TagsInput, Textarea } from "@mantine/core";
import { lazy, useState } from "react";
import { useCan, useCommand, useSession, useSnapshot } from "../app/sessionContext";
import { isTexts, useDraft, useTextDraft } from "../app/useDraft";
import { useRequestChoice } from "../compose/requestChoice";
import { JudgeButtons } from "../flow/JudgeButtons";
import { ACTIONS, COMPOSER, OPTIONS, REVIEW, TEMPLATES, wordFor } from "../generated/words";
import { exportUrl } from "../net/api";
import { LazyBoundary } from "../ui/LazyBoundary";
import { BookIcon, CheckIcon, DownloadIcon, PlayIcon } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { OptionButtons } from "./OptionButtons";
import styles from "./NextPanel.module.css";
import buttons from "../ui/buttons.module.css";
import panelStyles from "./panel.module.css";
import typography from "../ui/typography.module.css";

const SaveTemplate = lazy(() => import("../templates/SaveTemplate"));

export function NextPanel() {
  const snapshot = useSnapshot();
  const canRunCode = useSession(({ state }) => state.greeting?.can_run_code);
  const can = useCan();
  if (!snapshot || snapshot.phase !== "resting") return null;
  const { code } = snapshot;
  const isApproved = code?.status === "approved";
  // FailurePanel shows an unfinished plan, with these buttons.
  if (snapshot.reason !== "stopped" && can("retry")) return null;
  return (
    <section className={panelStyles.panel} data-testid="next" aria-label={COMPOSER.next}>
      {isApproved && can("run") && canRunCode && <RunForm />}
      {isApproved && canRunCode === false && (
        <p className={typography.hint} data-testid="cannot-run">
          {REVIEW.sandbox_missing}
        </p>
      )}
      {can("user_message") && <ProposedMessages />}
      <div className={buttons.row}>
        {isApproved && (
          <Button component="a" href={exportUrl(snapshot.session_id, "py")} download variant="default" leftSection={<DownloadIcon />} data-testid="download">
            {ACTIONS.download}
          </Button>
        )}
        <NextButtons />
        {snapshot.plan?.kind === "execution" && <SaveTemplateButton sessionId={snapshot.session_id} />}
      </div>
      {isApproved && !snapshot.answer && can("judge") && <JudgeProgram />}
    </section>
  );
}

/** The messages that the answer proposes: a click sends one. */
function ProposedMessages() {
  const proposed = useSession(({ state }) => state.snapshot?.answer?.next ?? []);
  const { choice, fieldsOf } = useRequestChoice();
  const command = useCommand();
  return (
    <>
      <OptionButtons
        options={proposed}
        testId="proposed-message"
        busy={command.busy}
        onChoose={(content) => command.send({ type: "user_message", content, ...fieldsOf(choice) })}
      />
      <Problem error={command.error} />
    </>
  );
}

function SaveTemplateButton({ sessionId }: { sessionId: string }) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button variant="default" leftSection={<BookIcon />} onClick={() => setOpened(true)} data-testid="template-new">
        {TEMPLATES.save}
      </Button>
      {opened && (
        <LazyBoundary>
          <SaveTemplate sessionId={sessionId} source="plan" onClose={() => setOpened(false)} />
        </LazyBoundary>
      )}
    </>
  );
}

/** Buttons to continue with another request, or to finish. */
export function NextButtons() {
  const next = useSession(({ state }) => state.snapshot?.next);
  const can = useCan();
  const command = useCommand();
  // Run and complete have their own buttons.
  const options = next?.options.filter((option) => !/^(run|complete)/i.test(option)) ?? [];
  return (
    <>
      {can("continue") &&
        options.map((option) => (
          <Button key={option} variant="default" data-testid="continue-option" onClick={() => document.querySelector<HTMLElement>("#composer textarea")?.focus()}>
            {wordFor(OPTIONS, option) ?? option}
          </Button>
        ))}
      {can("complete") && (
        <Button variant="light" color="teal" leftSection={<CheckIcon />} data-testid="complete" loading={command.busy} onClick={() => command.send({ type: "complete" })}>
          {ACTIONS.done}
        </Button>
      )}
      <Problem error={command.error} />
    </>
  );
}

/** An approved program has no answer entry, so the buttons show the last judgement since the last plan. */
function JudgeProgram() {
  const last = useSession(({ state }) => [...state.journal.values()].findLast((entry) => entry.kind === "plan" || (entry.kind === "decision" && entry.about === "answer")));
  const judgement = last?.kind === "decision" ? last : null;
  return <JudgeButtons accepted={judgement?.decision === "approved"} saved={judgement?.saved ?? false} isNewest />;
}

const NO_ARGS: string[] = [];

function RunForm() {
  const command = useCommand();
  const { value: stdin, set: setStdin } = useTextDraft("stdin");
  const { value: args, set: setArgs } = useDraft<string[]>("args", NO_ARGS, isTexts);
  return (
    <div className={styles.run}>
      <div className={buttons.row}>
        <Button leftSection={<PlayIcon />} data-testid="run" loading={command.busy} onClick={() => command.send({ type: "run", stdin, args })}>
          {ACTIONS.run_code}
        </Button>
        <span className={typography.dimmed}>{REVIEW.sandboxed}</span>
      </div>
      <details>
        <summary>{REVIEW.input_and_arguments}</summary>
        <Textarea label={REVIEW.input} autosize minRows={2} maxRows={8} maxLength={50_000} value={stdin} onChange={(event) => setStdin(event.currentTarget.value)} data-testid="run-stdin" />
        <TagsInput label={REVIEW.arguments} description={REVIEW.arguments_hint} maxTags={20} value={args} onChange={setArgs} data-testid="run-args" />
      </details>
      <Problem error={command.error} />
    </div>
  );
}
