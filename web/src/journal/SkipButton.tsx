// Skips an action: immediately, or for a plan step together with its dependents or with a replacement output.
import { Button, Modal, Textarea } from "@mantine/core";
import { useState } from "react";
import { type CommandSender, useCan, useCommand, useSnapshot } from "../app/sessionContext";
import { useTextDraft } from "../app/useDraft";
import { ACTIONS, fill, REVIEW } from "../words";
import type { Command } from "../protocol";
import { Problem } from "../ui/Problem";
import { parseStepOutput } from "./stepOutput";
import actionItemStyles from "./ActionItem.module.css";
import buttons from "../ui/buttons.module.css";

type SkipOutput = Extract<Command, { type: "skip" }>["output"]; // the schema's “any JSON” is generated as an object

const EXAMPLE = '{"order_id": "#W1"}';

export function SkipButton({ id, text }: { id: string; text: string }) {
  const snapshot = useSnapshot();
  const can = useCan();
  const command = useCommand();
  const [opened, setOpened] = useState(false);
  if (!snapshot?.actions[id] || !can("skip")) return null;
  const step = id.split(".").at(-1)?.replace(/\[\d+\]$/, "") ?? "";
  const section = snapshot.steps[step];
  const isItem = id.endsWith("]");
  return (
    <div className={actionItemStyles.skip}>
      <Button
        size="compact-xs"
        variant="default"
        loading={command.busy}
        onClick={() => (section ? setOpened(true) : command.send({ type: "skip", action_id: id }))}
        data-testid="skip"
        aria-label={`${ACTIONS.skip}: ${id}`}
      >
        {ACTIONS.skip}
      </Button>
      {opened && section && <SkipDialog id={id} text={text} dependents={isItem ? [] : (section.used_by ?? [])} command={command} onClose={() => setOpened(false)} />}
      {!opened && <Problem error={command.error} />}
    </div>
  );
}

interface Props {
  id: string;
  text: string;
  /** The ids of the steps that use the action's output. */
  dependents: readonly string[];
  command: CommandSender;
  onClose: () => void;
}

function SkipDialog({ id, text, dependents, command, onClose }: Props) {
  const snapshot = useSnapshot();
  const { value: output, set: setOutput, key: outputKey } = useTextDraft(`skip ${id}`);
  const [problem, setProblem] = useState("");
  const steps = snapshot?.plan?.steps ?? [];
  const sendOutput = () => {
    const parsed = parseStepOutput(output);
    setProblem(parsed.problem);
    if (!parsed.problem) command.send({ type: "skip", action_id: id, output: parsed.value as SkipOutput }, [outputKey]);
  };
  return (
    <Modal opened onClose={onClose} title={fill(REVIEW.skip_step, { text })} closeButtonProps={{ "aria-label": ACTIONS.close }}>
      <div data-testid="skip-dialog">
        {dependents.length > 0 ? (
          <>
            <p>{REVIEW.skip_users}</p>
            <ul data-testid="skip-users">
              {steps.flatMap((step, index) => (dependents.includes(step.id ?? "") ? [<li key={step.id}>{`${index + 1}. ${step.text}`}</li>] : []))}
            </ul>
          </>
        ) : (
          <p>{REVIEW.skip_plain}</p>
        )}
        <div className={buttons.row}>
          <Button
            variant="default"
            loading={command.busy}
            onClick={() => command.send({ type: "skip", action_id: id, with_dependents: dependents.length > 0 })}
            data-testid="skip-send"
          >
            {dependents.length > 0 ? ACTIONS.skip_with : ACTIONS.skip}
          </Button>
        </div>
        <Textarea
          my="md"
          label={REVIEW.skip_output}
          description={fill(REVIEW.skip_output_hint, { example: EXAMPLE })}
          autosize
          minRows={2}
          maxRows={10}
          maxLength={8_000}
          value={output}
          error={problem || undefined}
          onChange={(event) => {
            setOutput(event.currentTarget.value);
            setProblem("");
          }}
          data-testid="skip-output"
        />
        <div className={buttons.row}>
          <Button loading={command.busy} onClick={sendOutput} data-testid="skip-give">
            {ACTIONS.skip_give}
          </Button>
        </div>
        <Problem error={command.error} />
      </div>
    </Modal>
  );
}
