// A path to approve before it runs: its graph, an editor for its steps, and the approval of this exact version.
import { Button, Loader } from "@mantine/core";
import { useState } from "react";
import { useCan, useCommand, useDisplayName, useSession } from "../app/sessionContext";
import { fill, JOURNAL, PATHS, SIGNS, TROUBLE } from "../generated/words";
import { type ActionEntry, NOTHING_YET } from "../journal/entries";
import type { PlanView } from "../protocol";
import { Decision } from "../review/Decision";
import { authorText } from "../review/VersionBar";
import { EditIcon } from "../ui/icons";
import { useFlows } from "./flows";
import { FlowView } from "./FlowView";
import { PathBadges, PathNotes } from "./PathBadges";
import { PathForm } from "./PathForm";
import { flowOf, type FlowSpec, groupByFlow, nodeOf, readableName, splitTool } from "./spec";
import panelStyles from "../review/panel.module.css";
import planTextStyles from "../review/planText.module.css";
import typography from "../ui/typography.module.css";

export default function PathReview({ plan }: { plan: PlanView }) {
  const request = useSession(({ state }) => state.snapshot?.request ?? "");
  const can = useCan();
  const displayName = useDisplayName();
  const command = useCommand();
  const { flows, problem } = useFlows();
  const [editedVersion, setEditedVersion] = useState<number | null>(null);
  const tools = plan.steps.flatMap((step) => step.tool ?? []);
  const isEditing = editedVersion === plan.version;
  const save = (path: string[]) => {
    const steps = path.map((tool) => ({ tool, text: nodeDescription(flows ?? [], tool) || tool }));
    command.send({ type: "edit", target: "plan", version: plan.version, goal: plan.goal, notes: plan.notes, steps });
  };
  const actions = tools.map(plannedAction);
  const turn = { actions, path: plan.path, changes: [] };
  return (
    <section className={panelStyles.panel} data-testid="path-review" aria-label={fill(JOURNAL.path, { number: plan.number })}>
      <header className={panelStyles.head}>
        <h2>{fill(PATHS.title, { flows: groupByFlow(tools).map((chain) => readableName(chain.flow)).join(" → ") })}</h2>
        <span className={typography.dimmed}>{authorText(plan.by, displayName)}</span>
        {plan.path && <PathBadges path={plan.path} isChanged={plan.by.startsWith("user:")} />}
      </header>
      {plan.path && <PathNotes path={plan.path} />}
      {plan.notes && <p className={planTextStyles.notes}>{plan.notes}</p>}
      {problem && <p className={typography.problem}>{fill(TROUBLE.flows, { why: problem })}</p>}
      {!flows && !problem && <Loader size="sm" aria-label={SIGNS.loading} />}
      {flows && <FlowView flows={flows} turn={turn} context={{ request, previousActions: [] }} />}
      {flows && isEditing && (
        <PathForm flows={flows} path={tools} command={command} saveLabel={PATHS.save} onSave={save} onClose={() => setEditedVersion(null)} />
      )}
      <Decision target="text" version={plan.version} hash={plan.hash} approveLabel={PATHS.use} replanLabel={PATHS.again} blockedReason={isEditing ? PATHS.save_first : ""}>
        {flows && can("edit") && !isEditing && (
          <Button variant="subtle" leftSection={<EditIcon />} onClick={() => setEditedVersion(plan.version)} data-testid="path-edit">
            {PATHS.edit}
          </Button>
        )}
      </Decision>
    </section>
  );
}

/** An action for a planned node, only for display. */
function plannedAction(tool: string, place: number): ActionEntry {
  const words = { by: "", at: "", word: "", gist: "", error: "", decided_by: "", tone: "plain", state: "planned" } as const;
  const id = String(place);
  return { ...NOTHING_YET, ...words, kind: "action", key: id, version: 0, turn: 0, action_id: id, tool, place, effect: "read", ruling: "proceed", seconds: 0, artefact: null, tokens: 0 };
}

function nodeDescription(flows: readonly FlowSpec[], tool: string): string {
  const [flow, node] = splitTool(tool);
  return nodeOf(flowOf(flows, flow), node)?.description ?? "";
}
