// A path to approve before it is walked: as a graph, as steps that can be changed, and the yes to exactly this.
import { Button, Loader } from "@mantine/core";
import { useState } from "react";
import { useAct, useCan, useNameOf, useSession } from "../app/session";
import { fill, JOURNAL, PATHS, SIGNS, TROUBLE } from "../generated/words";
import { type ActionEntry, SPEC } from "../journal/entries";
import type { PlanView } from "../protocol";
import { Decision } from "../review/Decision";
import { authorOf } from "../review/VersionBar";
import { Pen } from "../ui/icons";
import { Badges, PathNotes } from "./Badges";
import { useFlows } from "./flows";
import { FlowView } from "./FlowView";
import { PathForm } from "./PathForm";
import { chains, flowOf, type FlowSpec, nodeOf, split, words } from "./spec";

export default function PathReview({ plan }: { plan: PlanView }) {
  const { state } = useSession();
  const can = useCan();
  const nameOf = useNameOf();
  const saving = useAct();
  const { flows, problem } = useFlows();
  const [editing, setEditing] = useState<number | null>(null);
  const tools = plan.steps.flatMap((step) => step.tool ?? []);
  const edits = editing === plan.version;
  const save = (path: string[]) => {
    const steps = path.map((tool) => ({ tool, text: textOf(flows ?? [], tool) || tool }));
    saving.send({ type: "edit", target: "plan", version: plan.version, goal: plan.goal, notes: plan.notes, steps });
  };
  const actions = tools.map(toDraw);
  const turn = { actions, path: plan.path, changes: [] };
  return (
    <section className="panel" data-testid="path-review" aria-label={fill(JOURNAL.path, { number: plan.number })}>
      <header className="panel-head">
        <h2>{fill(PATHS.title, { flows: chains(tools).map((one) => words(one.flow)).join(" → ") })}</h2>
        <span className="dimmed">{authorOf(plan.by, nameOf)}</span>
        {plan.path && <Badges path={plan.path} changed={plan.by.startsWith("user:")} />}
      </header>
      {plan.path && <PathNotes path={plan.path} />}
      {plan.notes && <p className="plan-notes">{plan.notes}</p>}
      {problem && <p className="problem">{fill(TROUBLE.flows, { why: problem })}</p>}
      {!flows && !problem && <Loader size="sm" aria-label={SIGNS.loading} />}
      {flows && <FlowView flows={flows} turn={turn} beginning={{ request: state.snapshot?.request ?? "", before: [] }} />}
      {flows && edits && (
        <PathForm flows={flows} path={tools} act={saving} save={PATHS.save} onSave={save} onClose={() => setEditing(null)} />
      )}
      <Decision target="text" version={plan.version} hash={plan.hash} yes={PATHS.use} again={PATHS.again} blocked={edits ? PATHS.save_first : ""}>
        {flows && can("edit") && !edits && (
          <Button variant="subtle" leftSection={<Pen />} onClick={() => setEditing(plan.version)} data-testid="path-edit">
            {PATHS.edit}
          </Button>
        )}
      </Decision>
    </section>
  );
}

/** A node that is only planned: to draw, not to run. */
function toDraw(tool: string, place: number): ActionEntry {
  const words = { by: "", at: "", word: "", gist: "", error: "", decided_by: "", tone: "plain", state: "planned" } as const;
  const id = String(place);
  const nothing = { version: 0, spec_in: 0, result_in: null, seconds: 0, tokens: 0, turn: 0, artefact: null, result: null };
  return { ...words, ...nothing, kind: "action", key: id, action_id: id, tool, place, spec: { ...SPEC, id, tool, description: "" } };
}

function textOf(flows: readonly FlowSpec[], tool: string): string {
  const [flow, node] = split(tool);
  return nodeOf(flowOf(flows, flow), node)?.description ?? "";
}
