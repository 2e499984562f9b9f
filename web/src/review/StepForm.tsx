// A step that acts, made or changed: its tool, a form for what the tool takes, what it is for, and what it comes after.
import { Button, Loader, MultiSelect, Textarea } from "@mantine/core";
import { useEffect, useEffectEvent, useId, useState } from "react";
import { ACTIONS, fill, PAGE, REVIEW, SIGNS } from "../generated/words";
import { tools } from "../net/api";
import type { StepOutput, ToolSpec } from "../protocol";
import { emptyOf, type Entered, enteredFor, fieldsOf, filled } from "../takeover/fields";
import { ToolChoice } from "../takeover/ToolChoice";
import { EffectTone } from "../ui/EffectTone";
import type { EditedStep } from "./planEdit";
import { StepArgument } from "./StepArgument";

interface Props {
  /** A new one has an id, and no tool. */
  step: StepOutput;
  /** Its place in the plan, from 1; null: it has none yet. */
  number: number | null;
  steps: readonly EditedStep[];
  onDone: (step: StepOutput) => void;
  onClose: () => void;
}

export function StepForm({ step, number, steps, onDone, onClose }: Props) {
  const title = useId();
  const [tool, setTool] = useState<ToolSpec | null>(null);
  const [choosing, setChoosing] = useState(!step.tool);
  const [entered, setEntered] = useState<Record<string, Entered>>({});
  const [text, setText] = useState(step.text);
  const [after, setAfter] = useState([...(step.after ?? [])]);
  const [tried, setTried] = useState(false);

  const fields = tool ? fieldsOf(tool.parameters) : [];
  const { arguments: values, problems } = filled(fields, entered);
  const empty = fields.filter(({ name, required }) => required && entered[name]?.toString() === "");
  const texts = empty.filter(({ kind }) => kind === "text" || kind === "list"); // maybe meant: the button is pressed again
  const good = empty.length === texts.length && Object.keys(problems).length === 0;
  for (const one of empty) problems[one.name] ??= texts.includes(one) ? REVIEW.field_empty : REVIEW.field_needed;
  const others = steps.filter((one) => one.step.id !== step.id);

  const choose = (spec: ToolSpec) => {
    const given: Record<string, unknown> = { ...step.arguments, ...values };
    setEntered(enteredFor(fieldsOf(spec.parameters), given));
    setTool(spec);
    setChoosing(false);
    setTried(false);
    if (!text.trim()) setText(inWords(spec.name));
  };
  useTool(step.tool, (spec) => (spec ? choose(spec) : setChoosing(true)));

  const submit = () => {
    setTried(true);
    if (!tool || choosing || !text.trim() || !good || (texts.length > 0 && !tried)) return;
    onDone({ ...step, text: text.trim(), tool: tool.name, arguments: values as StepOutput["arguments"], after, effect: tool.effect, policy: tool.policy });
  };
  return (
    <form
      className="step-form"
      data-testid="step-form"
      aria-labelledby={title}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={(event) => {
        const list = event.target instanceof Element && event.target.hasAttribute("aria-controls"); // is open: only that closes
        if (event.key !== "Escape" || list) return;
        event.stopPropagation();
        onClose();
      }}
    >
      <h3 id={title}>{number ? fill(REVIEW.change_step, { number }) : REVIEW.new_step}</h3>
      {choosing && <ToolChoice onChoice={choose} usable={({ policy }) => policy !== "deny"} autoFocus />}
      {!choosing && !tool && <Loader size="sm" aria-label={SIGNS.loading} />}
      {!choosing && tool && (
        <>
          <p className="action-head">
            <code>{tool.name}</code>
            <EffectTone effect={tool.effect} />
            <Button size="compact-xs" variant="subtle" onClick={() => setChoosing(true)} data-testid="other-tool">
              {PAGE.other_tool}
            </Button>
          </p>
          <p className="dimmed">{tool.description}</p>
          {fields.map((field, index) => (
            <StepArgument
              key={`${tool.name} ${field.name}`}
              field={field}
              value={entered[field.name] ?? emptyOf(field)}
              problem={tried ? problems[field.name] : undefined}
              autoFocus={index === 0}
              steps={steps}
              self={step.id ?? ""}
              onChange={(value) => setEntered({ ...entered, [field.name]: value })}
            />
          ))}
          {fields.length > 0 && others.length > 0 && <p className="hint">{fill(REVIEW.part_hint, { example: "{{steps.s1.output.orders[0].id}}" })}</p>}
          <Textarea
            label={REVIEW.step_does}
            withAsterisk
            autosize
            minRows={1}
            maxLength={2000}
            value={text}
            error={tried && !text.trim() ? REVIEW.field_needed : undefined}
            onChange={(event) => setText(event.currentTarget.value)}
            data-testid="step-does"
          />
          {others.length > 0 && (
            <MultiSelect
              label={REVIEW.comes_after}
              description={REVIEW.comes_after_hint}
              data={others.map((one) => ({ value: one.step.id ?? "", label: `${steps.indexOf(one) + 1}. ${one.step.text}` }))}
              value={after}
              onChange={setAfter}
              searchable
              hidePickedOptions
              data-testid="step-after"
            />
          )}
        </>
      )}
      <div className="decision-buttons">
        <Button type="submit" size="sm" disabled={choosing || !tool} data-testid="step-use">
          {number ? REVIEW.step_use : REVIEW.step_add}
        </Button>
        <Button size="sm" variant="subtle" onClick={onClose} data-testid="step-close">
          {ACTIONS.cancel}
        </Button>
      </div>
    </form>
  );
}

/** Tells of the tool with this name once; null where it cannot be had. */
function useTool(name: string | null, onTool: (spec: ToolSpec | null) => void) {
  const told = useEffectEvent(onTool);
  useEffect(() => {
    if (!name) return;
    const aborter = new AbortController();
    tools("", 500, aborter.signal)
      .then((page) => told(page.tools.find((one) => one.name === name) ?? null))
      .catch(() => !aborter.signal.aborted && told(null));
    return () => aborter.abort();
  }, [name]);
}

/** A tool's name as the beginning of a sentence. */
function inWords(name: string): string {
  const words = (name.split(".").at(-1) ?? name).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
