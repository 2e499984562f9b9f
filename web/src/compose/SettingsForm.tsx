import { NativeSelect, NumberInput, SegmentedControl, Stack, Switch } from "@mantine/core";
import { useSession } from "../app/sessionContext";
import { useFlows } from "../flow/flows";
import { readableName } from "../flow/spec";
import { fill, SETTINGS, TROUBLE, WELCOME } from "../words";
import { type RequestChoice, useRequestChoice, useWorkflows, type Workflow, WORKFLOWS } from "./requestChoice";
import typography from "../ui/typography.module.css";

export default function SettingsForm() {
  const workflows = useWorkflows();
  const { choice, change } = useRequestChoice();
  return (
    <Stack gap={12}>
      <SegmentedControl
        fullWidth
        size="xs"
        aria-label={WELCOME.how}
        value={choice.workflow}
        onChange={(value) => change({ workflow: value as Workflow })}
        data={workflows.map((workflow) => ({ value: workflow, label: WORKFLOWS[workflow] ?? workflow }))}
      />
      {choice.workflow === "agentflow" ? <ToolSettings /> : choice.workflow === "flow" ? <FlowSettings /> : choice.workflow === "execution_plan" ? <PlanSettings /> : <p className={typography.hint}>{SETTINGS.plan_first}</p>}
    </Stack>
  );
}

function ToolSettings() {
  const { choice, change } = useRequestChoice();
  return (
    <>
      <NumberInput
        label={SETTINGS.max_turns}
        min={1}
        max={100}
        allowDecimal={false}
        clampBehavior="blur"
        hideControls
        value={choice.max_turns}
        onChange={(value) => typeof value === "number" && value >= 1 && value <= 100 && change({ max_turns: value })}
        data-testid="max-turns"
      />
      <ApprovalPolicySelect />
      <StoreSelect />
      <NativeSelect
        label={SETTINGS.quality}
        value={choice.quality}
        onChange={(event) => change({ quality: event.currentTarget.value as RequestChoice["quality"] })}
        data={[
          { value: "economy", label: SETTINGS.quality_economy },
          { value: "balanced", label: SETTINGS.quality_balanced },
          { value: "thorough", label: SETTINGS.quality_thorough },
        ]}
        data-testid="quality"
      />
      <Switch
        label={SETTINGS.recall}
        checked={choice.recall}
        onChange={(event) => change({ recall: event.currentTarget.checked })}
        data-testid="recall"
      />
    </>
  );
}

function PlanSettings() {
  const { choice, change } = useRequestChoice();
  return (
    <>
      <Switch
        label={SETTINGS.plan_approval}
        description={choice.require_plan_approval ? undefined : SETTINGS.plan_approval_off}
        checked={choice.require_plan_approval}
        onChange={(event) => change({ require_plan_approval: event.currentTarget.checked })}
        data-testid="plan-approval"
      />
      {!choice.require_plan_approval && <ApprovalPolicySelect />}
      <StoreSelect />
    </>
  );
}

/** Which calls need the user's approval. */
function ApprovalPolicySelect() {
  const { choice, change } = useRequestChoice();
  return (
    <NativeSelect
      label={SETTINGS.approval}
      value={choice.approval}
      onChange={(event) => change({ approval: event.currentTarget.value as RequestChoice["approval"] })}
      data={[
        { value: "writes", label: SETTINGS.approval_writes },
        { value: "always", label: SETTINGS.approval_always },
        { value: "never", label: SETTINGS.approval_never },
      ]}
      data-testid="approval-policy"
    />
  );
}

/** Which copy of the data the session changes. */
function StoreSelect() {
  const isNew = useSession(({ state }) => state.sessionId === null);
  const { choice, change } = useRequestChoice();
  return (
    <NativeSelect
      label={SETTINGS.store}
      description={isNew ? undefined : SETTINGS.store_fixed}
      disabled={!isNew}
      value={choice.world}
      onChange={(event) => change({ world: event.currentTarget.value as RequestChoice["world"] })}
      data={[
        { value: "shared", label: SETTINGS.store_shared },
        { value: "own", label: SETTINGS.store_own },
      ]}
      data-testid="world"
    />
  );
}

function FlowSettings() {
  const { choice, change } = useRequestChoice();
  const { flows, problem } = useFlows();
  const names = (flows ?? []).map((flow) => flow.name);
  const options = choice.flow && !names.includes(choice.flow) ? [...names, choice.flow] : names;
  return (
    <>
      <NativeSelect
        label={SETTINGS.flow}
        description={problem ? fill(TROUBLE.flows, { why: problem }) : flows?.find((flow) => flow.name === choice.flow)?.description}
        value={choice.flow}
        onChange={(event) => change({ flow: event.currentTarget.value })}
        data={[{ value: "", label: SETTINGS.flow_any }, ...options.map((name) => ({ value: name, label: readableName(name) }))]}
        data-testid="flow"
      />
      <NativeSelect
        label={SETTINGS.confirm}
        value={choice.confirm}
        onChange={(event) => change({ confirm: event.currentTarget.value as RequestChoice["confirm"] })}
        data={[
          { value: "path", label: SETTINGS.confirm_path },
          { value: "nodes", label: SETTINGS.confirm_nodes },
          { value: "nothing", label: SETTINGS.confirm_nothing },
        ]}
        data-testid="confirm"
      />
      <NativeSelect
        label={SETTINGS.path}
        value={choice.use_planning ? "plan" : "full"}
        onChange={(event) => change({ use_planning: event.currentTarget.value === "plan" })}
        data={[
          { value: "plan", label: SETTINGS.path_planned },
          { value: "full", label: SETTINGS.path_full },
        ]}
        data-testid="use-planning"
      />
      <Switch label={SETTINGS.cache} checked={choice.cache} disabled={!choice.use_planning} onChange={(event) => change({ cache: event.currentTarget.checked })} data-testid="cache" />
    </>
  );
}
