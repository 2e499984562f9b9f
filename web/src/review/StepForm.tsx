// The form of a plan step with a tool: the tool, its arguments, a description, and what it comes after.
import { Button, Loader, MultiSelect, Textarea } from "@mantine/core";
import { useEffect, useEffectEvent, useId, useState } from "react";
import { ACTIONS, fill, PAGE, REVIEW, SIGNS } from "../words";
import { fetchTools } from "../net/api";
import type { StepOutput, ToolSpec } from "../protocol";
import { emptyValue, fieldsOf, type FieldValue, parseFields, toFieldValues } from "../takeover/fields";
import { ToolPicker } from "../takeover/ToolPicker";
import { EffectBadge } from "../ui/EffectBadge";
import type { EditedStep } from "./planEdit";
import { StepArgument } from "./StepArgument";
import styles from "./StepForm.module.css";
import buttons from "../ui/buttons.module.css";
import callHeadStyles from "../ui/callHead.module.css";
import typography from "../ui/typography.module.css";

interface Props {
  /** A new step has an id, but no tool. */
  step: StepOutput;
  /** Its number in the plan, from 1; null for a new step. */
  number: number | null;
  steps: readonly EditedStep[];
  /** Called with the step as entered so far. */
  onChange: (step: StepOutput) => void;
  onDone: (step: StepOutput) => void;
  onClose: () => void;
}

export function StepForm({ step: opened, number, steps, onChange, onDone, onClose }: Props) {
  const [step] = useState(opened);
  const titleId = useId();
  const [tool, setTool] = useState<ToolSpec | null>(null);
  const [isChoosing, setIsChoosing] = useState(!step.tool);
  const [fieldValues, setFieldValues] = useState<Record<string, FieldValue>>({});
  const [text, setText] = useState(step.text);
  const [after, setAfter] = useState([...(step.after ?? [])]);
  const [showErrors, setShowErrors] = useState(false);

  const fields = tool ? fieldsOf(tool.parameters) : [];
  const { arguments: values, problems } = parseFields(fields, fieldValues);
  const empty = fields.filter(({ name, required }) => required && fieldValues[name]?.toString() === "");
  // The user may want these empty: pressing the button again confirms it.
  const emptyTexts = empty.filter(({ kind }) => kind === "text" || kind === "list");
  const isValid = empty.length === emptyTexts.length && Object.keys(problems).length === 0;
  for (const field of empty) problems[field.name] ??= emptyTexts.includes(field) ? REVIEW.field_empty : REVIEW.field_needed;
  const others = steps.filter((row) => row.step.id !== step.id);

  const choose = (spec: ToolSpec) => {
    const args: Record<string, unknown> = { ...step.arguments, ...values };
    setFieldValues(toFieldValues(fieldsOf(spec.parameters), args));
    setTool(spec);
    setIsChoosing(false);
    setShowErrors(false);
    if (!text.trim()) setText(toSentence(spec.name));
  };
  useTool(step.tool, (spec) => (spec ? choose(spec) : setIsChoosing(true)));

  const entered = JSON.stringify(tool ? { ...step, text, tool: tool.name, arguments: values, after } : { ...step, text, after });
  const onEntered = useEffectEvent(() => onChange(JSON.parse(entered) as StepOutput));
  useEffect(() => onEntered(), [entered]);

  const submit = () => {
    setShowErrors(true);
    if (!tool || isChoosing || !text.trim() || !isValid || (emptyTexts.length > 0 && !showErrors)) return;
    onDone({ ...step, text: text.trim(), tool: tool.name, arguments: values as StepOutput["arguments"], after, effect: tool.effect, policy: tool.policy });
  };
  return (
    <form
      className={styles.form}
      data-testid="step-form"
      aria-labelledby={titleId}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={(event) => {
        // Escape closes only an open list.
        const list = event.target instanceof Element && event.target.hasAttribute("aria-controls");
        if (event.key !== "Escape" || list) return;
        event.stopPropagation();
        onClose();
      }}
    >
      <h3 id={titleId}>{number ? fill(REVIEW.change_step, { number }) : REVIEW.new_step}</h3>
      {isChoosing && <ToolPicker onChoice={choose} isUsable={({ policy }) => policy !== "deny"} autoFocus />}
      {!isChoosing && !tool && <Loader size="sm" aria-label={SIGNS.loading} />}
      {!isChoosing && tool && (
        <>
          <p className={callHeadStyles.head}>
            <code>{tool.name}</code>
            <EffectBadge effect={tool.effect} />
            <Button size="compact-xs" variant="subtle" onClick={() => setIsChoosing(true)} data-testid="other-tool">
              {PAGE.other_tool}
            </Button>
          </p>
          <p className={typography.dimmed}>{tool.description}</p>
          {fields.map((field, index) => (
            <StepArgument
              key={`${tool.name} ${field.name}`}
              field={field}
              value={fieldValues[field.name] ?? emptyValue(field)}
              problem={showErrors ? problems[field.name] : undefined}
              autoFocus={index === 0}
              steps={steps}
              stepId={step.id ?? ""}
              onChange={(value) => setFieldValues({ ...fieldValues, [field.name]: value })}
            />
          ))}
          {fields.length > 0 && others.length > 0 && <p className={typography.hint}>{fill(REVIEW.part_hint, { example: "{{steps.s1.output.orders[0].id}}" })}</p>}
          <Textarea
            label={REVIEW.step_does}
            withAsterisk
            autosize
            minRows={1}
            maxLength={2000}
            value={text}
            error={showErrors && !text.trim() ? REVIEW.field_needed : undefined}
            onChange={(event) => setText(event.currentTarget.value)}
            data-testid="step-does"
          />
          {others.length > 0 && (
            <MultiSelect
              label={REVIEW.comes_after}
              description={REVIEW.comes_after_hint}
              data={others.map((row) => ({ value: row.step.id ?? "", label: `${steps.indexOf(row) + 1}. ${row.step.text}` }))}
              value={after}
              onChange={setAfter}
              searchable
              hidePickedOptions
              data-testid="step-after"
            />
          )}
        </>
      )}
      <div className={buttons.row}>
        <Button type="submit" size="sm" disabled={isChoosing || !tool} data-testid="step-use">
          {number ? REVIEW.step_use : REVIEW.step_add}
        </Button>
        <Button size="sm" variant="subtle" onClick={onClose} data-testid="step-close">
          {ACTIONS.cancel}
        </Button>
      </div>
    </form>
  );
}

/** Calls `onTool` once with the tool of this name; with null if it is not available. */
function useTool(name: string | null, onTool: (spec: ToolSpec | null) => void) {
  const handler = useEffectEvent(onTool);
  useEffect(() => {
    if (!name) return;
    const aborter = new AbortController();
    fetchTools("", 500, aborter.signal)
      .then((page) => handler(page.tools.find((tool) => tool.name === name) ?? null))
      .catch(() => !aborter.signal.aborted && handler(null));
    return () => aborter.abort();
  }, [name]);
}

/** A tool's name as the beginning of a sentence. */
function toSentence(name: string): string {
  const words = (name.split(".").at(-1) ?? name).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
