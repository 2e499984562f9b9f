// An escalated session: why, the tools to act with, and the button that hands it back.
import { Button } from "@mantine/core";
import { useState } from "react";
import { useSession } from "../app/sessionContext";
import { PAGE } from "../words";
import type { ToolSpec } from "../protocol";
import { ToolForm } from "./ToolForm";
import { ToolPicker } from "./ToolPicker";
import buttons from "../ui/buttons.module.css";
import panelStyles from "../review/panel.module.css";
import typography from "../ui/typography.module.css";

export default function TakeOver() {
  const escalation = useSession(({ state }) => state.snapshot?.escalation);
  const [tool, setTool] = useState<ToolSpec | null>(null);
  if (!escalation) return null;
  const { message: reason, taken_over: isTakenOver } = escalation;
  return (
    <section className={panelStyles.panel} data-testid="take-over" aria-label={PAGE.take_over}>
      <h2>{isTakenOver ? PAGE.acting_title : PAGE.escalated_title}</h2>
      {reason && <p>{reason}</p>}
      <p className={typography.hint}>{PAGE.by_hand}</p>
      {tool ? <ToolForm key={tool.name} tool={tool} onClose={() => setTool(null)} /> : <ToolPicker onChoice={setTool} />}
      <div className={buttons.row}>
        <Button variant="light" size="sm" onClick={() => document.querySelector<HTMLElement>("#composer textarea")?.focus()} data-testid="hand-back">
          {PAGE.hand_back}
        </Button>
      </div>
    </section>
  );
}
