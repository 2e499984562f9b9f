// A session that was escalated: why, the tools for a person to act with, and how it is handed back.
import { Button } from "@mantine/core";
import { useState } from "react";
import { useSession } from "../app/session";
import { PAGE } from "../generated/words";
import type { ToolSpec } from "../protocol";
import { ToolChoice } from "./ToolChoice";
import { ToolForm } from "./ToolForm";

export default function TakeOver() {
  const { state } = useSession();
  const [tool, setTool] = useState<ToolSpec | null>(null);
  const asked = state.snapshot?.escalation;
  if (!asked) return null;
  const { message: why, taken_over: mine } = asked;
  return (
    <section className="panel panel-question" data-testid="take-over" aria-label={PAGE.take_over}>
      <h2>{mine ? PAGE.acting_title : PAGE.escalated_title}</h2>
      {why && <p>{why}</p>}
      <p className="hint">{PAGE.by_hand}</p>
      {tool ? <ToolForm key={tool.name} tool={tool} onClose={() => setTool(null)} /> : <ToolChoice onChoice={setTool} />}
      <div className="decision-buttons">
        <Button variant="light" size="sm" onClick={() => document.querySelector<HTMLElement>("#composer textarea")?.focus()} data-testid="hand-back">
          {PAGE.hand_back}
        </Button>
      </div>
    </section>
  );
}
