// The frame of each form about a template: what it sends, the way back, and why it was refused.
import { Button } from "@mantine/core";
import { type ReactNode, useId } from "react";
import { useSending } from "../ui/useSending";

interface Props {
  /** The template's name; undefined: a dialog around the form has a title. */
  title?: string;
  testId: string;
  submit: { label: string; testId: string; disabled?: boolean; autoFocus?: boolean };
  back: string;
  /** Whether all that is needed is there; the form itself shows what is missing. */
  complete: () => boolean;
  onSubmit: () => Promise<void>;
  onBack: () => void;
  children: ReactNode;
}

export function TemplateForm({ title, testId, submit, back, complete, onSubmit, onBack, children }: Props) {
  const heading = useId();
  const { busy, refused, send } = useSending();
  return (
    <form
      className="question-form"
      aria-labelledby={title && heading}
      data-testid={testId}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (complete()) void send(onSubmit);
      }}
    >
      {title && <h3 id={heading}>{title}</h3>}
      {children}
      <div className="decision-buttons">
        <Button type="submit" loading={busy} disabled={submit.disabled} autoFocus={submit.autoFocus} data-testid={submit.testId}>
          {submit.label}
        </Button>
        <Button variant="subtle" onClick={onBack}>
          {back}
        </Button>
      </div>
      {refused && <p className="problem" role="alert" data-testid="error">{refused}</p>}
    </form>
  );
}
