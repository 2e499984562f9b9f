// A tool call by the user: its arguments, a preview of its changes, and the button that runs it.
import { Button } from "@mantine/core";
import { useState } from "react";
import { useCommand, useSession } from "../app/sessionContext";
import { useFormDraft } from "../app/useDraft";
import { PAGE, REVIEW } from "../words";
import { previewCall } from "../net/api";
import type { OwnAction, ToolSpec } from "../protocol";
import { Changes, type PreviewState } from "../ui/Changes";
import { EffectBadge } from "../ui/EffectBadge";
import { PlayIcon } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { errorMessage } from "../ui/useFetch";
import { ArgumentInput } from "./ArgumentInput";
import { emptyValue, fieldsOf, type FieldValue, parseFields } from "./fields";
import styles from "./ToolForm.module.css";
import buttons from "../ui/buttons.module.css";
import callHeadStyles from "../ui/callHead.module.css";
import typography from "../ui/typography.module.css";

export function ToolForm({ tool, onClose }: { tool: ToolSpec; onClose: () => void }) {
  const sessionId = useSession(({ state }) => state.sessionId);
  const command = useCommand();
  const fields = fieldsOf(tool.parameters);
  const { value: fieldValues, set: setFieldValues, key: valuesKey } = useFormDraft(`tool ${tool.name}`);
  const [showErrors, setShowErrors] = useState(false);
  const [previewState, setPreviewState] = useState<PreviewState | null>(null);
  const { arguments: values, problems } = parseFields(fields, fieldValues);
  const isValid = Object.keys(problems).length === 0;
  const enter = (name: string, value: FieldValue) => {
    setFieldValues({ ...fieldValues, [name]: value });
    setPreviewState(null);
  };
  const loadPreview = async () => {
    setShowErrors(true);
    if (!isValid || sessionId === null) return;
    setPreviewState("loading");
    try {
      setPreviewState({ preview: await previewCall(sessionId, tool.name, values) });
    } catch (error) {
      setPreviewState({ problem: errorMessage(error) });
    }
  };
  const run = () => {
    setShowErrors(true);
    if (!isValid) return;
    const action = { tool: tool.name, arguments: values } as OwnAction;
    command.send({ type: "take_over", sub_goal: `By hand: ${tool.name.replaceAll("_", " ")}`, actions: [action] }, [valuesKey]);
  };
  return (
    <form
      className={styles.form}
      data-testid="tool-form"
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
    >
      <p className={callHeadStyles.head}>
        <code>{tool.name}</code>
        <EffectBadge effect={tool.effect} />
        <Button size="compact-xs" variant="subtle" onClick={onClose} data-testid="other-tool">
          {PAGE.other_tool}
        </Button>
      </p>
      <p className={typography.dimmed}>{tool.description}</p>
      {fields.map((field, index) => (
        <ArgumentInput
          key={field.name}
          field={field}
          value={fieldValues[field.name] ?? emptyValue(field)}
          problem={showErrors ? problems[field.name] : undefined}
          autoFocus={index === 0}
          onChange={(value) => enter(field.name, value)}
        />
      ))}
      {previewState && <Changes state={previewState} />}
      <div className={buttons.row}>
        <Button type="submit" size="sm" leftSection={<PlayIcon />} loading={command.busy} data-testid="tool-run">
          {tool.effect === "read" ? REVIEW.look_up : PAGE.do_it}
        </Button>
        {tool.effect !== "read" && (
          <Button size="sm" variant="default" loading={previewState === "loading"} onClick={() => void loadPreview()} data-testid="tool-preview">
            {PAGE.effect_preview}
          </Button>
        )}
      </div>
      <Problem error={command.error} />
    </form>
  );
}
