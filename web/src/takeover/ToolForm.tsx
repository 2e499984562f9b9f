// One call of a tool by a person: its arguments, what they would change, and the button that makes it.
import { Button } from "@mantine/core";
import { useState } from "react";
import { useAct, useSession } from "../app/session";
import { PAGE, REVIEW } from "../generated/words";
import { previewCall } from "../net/api";
import type { OwnAction, ToolSpec } from "../protocol";
import { type Asked, Changes } from "../ui/Changes";
import { PlaySign } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { EffectTone } from "../ui/EffectTone";
import { ArgumentInput } from "./ArgumentInput";
import { emptyOf, type Entered, fieldsOf, filled } from "./fields";

export function ToolForm({ tool, onClose }: { tool: ToolSpec; onClose: () => void }) {
  const { state } = useSession();
  const act = useAct();
  const fields = fieldsOf(tool.parameters);
  const [entered, setEntered] = useState<Record<string, Entered>>({});
  const [tried, setTried] = useState(false);
  const [asked, setAsked] = useState<Asked | null>(null);
  const { arguments: values, problems } = filled(fields, entered);
  const good = Object.keys(problems).length === 0;
  const enter = (name: string, value: Entered) => {
    setEntered({ ...entered, [name]: value });
    setAsked(null);
  };
  const preview = async () => {
    setTried(true);
    if (!good || state.sessionId === null) return;
    setAsked("asking");
    try {
      setAsked({ preview: await previewCall(state.sessionId, tool.name, values) });
    } catch (error) {
      setAsked({ problem: error instanceof Error ? error.message : String(error) });
    }
  };
  const run = () => {
    setTried(true);
    if (!good) return;
    const action = { tool: tool.name, arguments: values } as OwnAction;
    act.send({ type: "take_over", sub_goal: `By hand: ${tool.name.replaceAll("_", " ")}`, actions: [action] });
  };
  return (
    <form
      className="tool-form"
      data-testid="tool-form"
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
    >
      <p className="action-head">
        <code>{tool.name}</code>
        <EffectTone effect={tool.effect} />
        <Button size="compact-xs" variant="subtle" onClick={onClose} data-testid="other-tool">
          {PAGE.other_tool}
        </Button>
      </p>
      <p className="dimmed">{tool.description}</p>
      {fields.map((field, index) => (
        <ArgumentInput
          key={field.name}
          field={field}
          value={entered[field.name] ?? emptyOf(field)}
          problem={tried ? problems[field.name] : undefined}
          autoFocus={index === 0}
          onChange={(value) => enter(field.name, value)}
        />
      ))}
      {asked && <Changes asked={asked} />}
      <div className="decision-buttons">
        <Button type="submit" size="sm" leftSection={<PlaySign />} loading={act.busy} data-testid="tool-run">
          {tool.effect === "read" ? REVIEW.look_up : PAGE.do_it}
        </Button>
        {tool.effect !== "read" && (
          <Button size="sm" variant="default" loading={asked === "asking"} onClick={() => void preview()} data-testid="tool-preview">
            {PAGE.effect_preview}
          </Button>
        )}
      </div>
      <Problem error={act.error} />
    </form>
  );
}
