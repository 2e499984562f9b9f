import { NativeSelect, NumberInput, SegmentedControl, Switch } from "@mantine/core";
import { useSession } from "../app/session";
import { type Choice, useChoice, type Workflow, WORKFLOWS } from "./choice";

export default function SettingsForm() {
  const { state } = useSession();
  const { choice, change } = useChoice(state);
  const workflows = (state.greeting?.workflows ?? []).filter((one) => one in WORKFLOWS);
  return (
    <div className="settings">
      <SegmentedControl
        fullWidth
        aria-label="How to work on it"
        value={choice.workflow}
        onChange={(value) => change({ workflow: value as Workflow })}
        data={workflows.map((one) => ({ value: one, label: WORKFLOWS[one] ?? one }))}
      />
      {choice.workflow === "agentflow" ? <ForTools /> : <p className="hint">You get a plan first, then the code.</p>}
    </div>
  );
}

function ForTools() {
  const { state } = useSession();
  const { choice, change } = useChoice(state);
  return (
    <>
      <NumberInput
        label="At most this many turns"
        min={1}
        max={100}
        allowDecimal={false}
        clampBehavior="blur"
        hideControls
        value={choice.max_turns}
        onChange={(value) => typeof value === "number" && value >= 1 && value <= 100 && change({ max_turns: value })}
        data-testid="max-turns"
      />
      <NativeSelect
        label="Ask me before"
        value={choice.approval}
        onChange={(event) => change({ approval: event.currentTarget.value as Choice["approval"] })}
        data={[
          { value: "writes", label: "anything that changes something" },
          { value: "always", label: "every call" },
          { value: "never", label: "nothing: do it all without asking" },
        ]}
        data-testid="approval-policy"
      />
      <NativeSelect
        label="Store"
        description={state.sessionId === null ? undefined : "Chosen when the session began"}
        disabled={state.sessionId !== null}
        value={choice.world}
        onChange={(event) => change({ world: event.currentTarget.value as Choice["world"] })}
        data={[
          { value: "shared", label: "the one that everybody shares" },
          { value: "own", label: "a fresh copy of its own" },
        ]}
        data-testid="world"
      />
      <NativeSelect
        label="Quality"
        value={choice.quality}
        onChange={(event) => change({ quality: event.currentTarget.value as Choice["quality"] })}
        data={[
          { value: "economy", label: "economy: only rules judge" },
          { value: "balanced", label: "balanced: a model where rules cannot" },
          { value: "thorough", label: "thorough: a model judges every turn" },
        ]}
        data-testid="quality"
      />
      <Switch
        label="Use what earlier sessions came to"
        checked={choice.recall}
        onChange={(event) => change({ recall: event.currentTarget.checked })}
        data-testid="recall"
      />
    </>
  );
}
