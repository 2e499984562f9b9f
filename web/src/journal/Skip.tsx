// Leaving an action out: at once, or, of a plan's step, with the steps that use its output or with an output in its place.
import { Button, Modal, Textarea } from "@mantine/core";
import { useState } from "react";
import { type Act, useAct, useCan, useSession } from "../app/session";
import { ACTIONS, fill, REVIEW } from "../generated/words";
import type { Command } from "../protocol";
import { Problem } from "../ui/Problem";
import { givenOutput } from "./givenOutput";

type JsonOfSkip = Extract<Command, { type: "skip" }>["output"]; // the schema's “any JSON” is generated as an object

const EXAMPLE = '{"order_id": "#W1"}';

export function Skip({ id, text }: { id: string; text: string }) {
  const { state } = useSession();
  const can = useCan();
  const act = useAct();
  const [opened, setOpened] = useState(false);
  const { snapshot } = state;
  if (!snapshot?.actions[id] || !can("skip")) return null;
  const step = id.split(".").at(-1)?.replace(/\[\d+\]$/, "") ?? "";
  const stands = snapshot.steps[step];
  const item = id.endsWith("]");
  return (
    <div className="action-skip">
      <Button
        size="compact-xs"
        variant="default"
        loading={act.busy}
        onClick={() => (stands ? setOpened(true) : act.send({ type: "skip", action_id: id }))}
        data-testid="skip"
        aria-label={`${ACTIONS.skip}: ${id}`}
      >
        {ACTIONS.skip}
      </Button>
      {opened && stands && <SkipStep id={id} text={text} users={item ? [] : (stands.used_by ?? [])} act={act} onClose={() => setOpened(false)} />}
      {!opened && <Problem error={act.error} />}
    </div>
  );
}

interface Props {
  id: string;
  text: string;
  /** The ids of the steps that use its output. */
  users: readonly string[];
  act: Act;
  onClose: () => void;
}

function SkipStep({ id, text, users, act, onClose }: Props) {
  const { state } = useSession();
  const [output, setOutput] = useState("");
  const [problem, setProblem] = useState("");
  const steps = state.snapshot?.plan?.steps ?? [];
  const give = () => {
    const given = givenOutput(output);
    setProblem(given.problem);
    if (!given.problem) act.send({ type: "skip", action_id: id, output: given.value as JsonOfSkip });
  };
  return (
    <Modal opened onClose={onClose} title={fill(REVIEW.skip_step, { text })} closeButtonProps={{ "aria-label": ACTIONS.close }}>
      <div data-testid="skip-dialog">
        {users.length > 0 ? (
          <>
            <p>{REVIEW.skip_users}</p>
            <ul data-testid="skip-users">
              {steps.flatMap((step, index) => (users.includes(step.id ?? "") ? [<li key={step.id}>{`${index + 1}. ${step.text}`}</li>] : []))}
            </ul>
          </>
        ) : (
          <p>{REVIEW.skip_plain}</p>
        )}
        <div className="decision-buttons">
          <Button
            variant="default"
            loading={act.busy}
            onClick={() => act.send({ type: "skip", action_id: id, with_dependents: users.length > 0 })}
            data-testid="skip-send"
          >
            {users.length > 0 ? ACTIONS.skip_with : ACTIONS.skip}
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
        <div className="decision-buttons">
          <Button loading={act.busy} onClick={give} data-testid="skip-give">
            {ACTIONS.skip_give}
          </Button>
        </div>
        <Problem error={act.error} />
      </div>
    </Modal>
  );
}
