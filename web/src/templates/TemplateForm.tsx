// The frame of the template forms: submit and back buttons, and the reason of a refusal.
import { Button } from "@mantine/core";
import { type ReactNode, useId } from "react";
import { useSubmit } from "../ui/useSubmit";
import buttons from "../ui/buttons.module.css";
import formStyles from "../ui/form.module.css";
import typography from "../ui/typography.module.css";

interface Props {
  /** The template's name; undefined if the dialog around the form has a title. */
  title?: string;
  testId: string;
  submit: { label: string; testId: string; disabled?: boolean; autoFocus?: boolean };
  backLabel: string;
  /** Returns whether the form is complete, and shows what is missing. */
  validate: () => boolean;
  onSubmit: () => Promise<void>;
  onBack: () => void;
  children: ReactNode;
}

export function TemplateForm({ title, testId, submit, backLabel, validate, onSubmit, onBack, children }: Props) {
  const heading = useId();
  const { busy, problem, submit: submitForm } = useSubmit();
  return (
    <form
      className={formStyles.form}
      aria-labelledby={title && heading}
      data-testid={testId}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (validate()) void submitForm(onSubmit);
      }}
    >
      {title && <h3 id={heading}>{title}</h3>}
      {children}
      <div className={buttons.row}>
        <Button type="submit" loading={busy} disabled={submit.disabled} autoFocus={submit.autoFocus} data-testid={submit.testId}>
          {submit.label}
        </Button>
        <Button variant="subtle" onClick={onBack}>
          {backLabel}
        </Button>
      </div>
      {problem && <p className={typography.problem} role="alert" data-testid="error">{problem}</p>}
    </form>
  );
}
