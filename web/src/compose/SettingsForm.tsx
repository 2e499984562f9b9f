import { NativeSelect, NumberInput, SegmentedControl, Switch } from "@mantine/core";
import { useSession } from "../app/session";
import { useFlows } from "../flow/flows";
import { words } from "../flow/spec";
import { type Choice, useChoice, type Workflow, WORKFLOWS } from "./choice";

export default function SettingsForm() {
  const { state } = useSession();
  const { choice, change } = useChoice(state);
  const workflows = (state.greeting?.workflows ?? []).filter((one) => one in WORKFLOWS);
  return (
    <div className="settings">
      <SegmentedControl
        fullWidth
        size="xs"
        aria-label="How to work on it"
        value={choice.workflow}
        onChange={(value) => change({ workflow: value as Workflow })}
        data={workflows.map((one) => ({ value: one, label: WORKFLOWS[one] ?? one }))}
      />
      {choice.workflow === "agentflow" ? <ForTools /> : choice.workflow === "flow" ? <ForFlows /> : <p className="hint">You get a plan first, then the code.</p>}
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

function ForFlows() {
  const { state } = useSession();
  const { choice, change } = useChoice(state);
  const { flows, problem } = useFlows();
  const names = (flows ?? []).map((one) => one.name);
  const all = choice.flow && !names.includes(choice.flow) ? [...names, choice.flow] : names;
  return (
    <>
      <NativeSelect
        label="Flow"
        description={problem ? `The flows cannot be listed now: ${problem}` : flows?.find((one) => one.name === choice.flow)?.description}
        value={choice.flow}
        onChange={(event) => change({ flow: event.currentTarget.value })}
        data={[{ value: "", label: "choose for me" }, ...all.map((one) => ({ value: one, label: words(one) }))]}
        data-testid="flow"
      />
      <NativeSelect
        label="Stop for me"
        value={choice.confirm}
        onChange={(event) => change({ confirm: event.currentTarget.value as Choice["confirm"] })}
        data={[
          { value: "path", label: "at the path, and at what it shows" },
          { value: "nodes", label: "at what it shows: tables, SQL" },
          { value: "nothing", label: "nowhere, but for changes" },
        ]}
        data-testid="confirm"
      />
      <NativeSelect
        label="Path"
        value={choice.use_planning ? "plan" : "full"}
        onChange={(event) => change({ use_planning: event.currentTarget.value === "plan" })}
        data={[
          { value: "plan", label: "the model plans it" },
          { value: "full", label: "walk the full graph" },
        ]}
        data-testid="use-planning"
      />
      <Switch label="Use a path planned before for the same" checked={choice.cache} disabled={!choice.use_planning} onChange={(event) => change({ cache: event.currentTarget.checked })} data-testid="cache" />
    </>
  );
}
