// Starts a session with a template's plan, after asking for its parameter values.
import { Loader } from "@mantine/core";
import { useState } from "react";
import { navigate } from "../app/route";
import { requestFields, useRequestChoice } from "../compose/requestChoice";
import { ACTIONS, SIGNS, TEMPLATES } from "../words";
import { fetchTemplate, startFromTemplate } from "../net/api";
import type { TemplateView } from "../protocol";
import { InlineText } from "../ui/InlineText";
import { useFetch } from "../ui/useFetch";
import { TemplateForm } from "./TemplateForm";
import { TemplateValues, useTemplateValues } from "./TemplateValues";
import templatesStyles from "./templates.module.css";
import typography from "../ui/typography.module.css";

interface Props {
  id: string;
  onBack: () => void;
  onStarted: () => void;
}

export function UseTemplate({ id, onBack, onStarted }: Props) {
  const { data: view, problem } = useFetch((signal) => fetchTemplate(id, signal), id);
  if (problem) return <p className={typography.problem} role="alert">{problem}</p>;
  if (!view) return <Loader size="sm" aria-label={SIGNS.loading} />;
  return <UseForm view={view} onBack={onBack} onStarted={onStarted} />;
}

function UseForm({ view, onBack, onStarted }: Omit<Props, "id"> & { view: TemplateView }) {
  const { choice } = useRequestChoice();
  const form = useTemplateValues(view.form, `template ${view.id}`);
  const [showErrors, setShowErrors] = useState(false);
  const validate = () => {
    setShowErrors(true);
    return Object.keys(form.problems).length === 0;
  };
  const start = async () => {
    const { settings } = requestFields({ ...choice, workflow: "execution_plan" }, { sessionId: null, snapshot: null });
    const sessionId = await startFromTemplate(view.id, form.values, settings ?? {});
    form.clear();
    navigate(sessionId);
    onStarted();
  };
  return (
    <TemplateForm
      title={view.template.name}
      testId="template-form"
      submit={{ label: TEMPLATES.use_plan, testId: "template-begin", disabled: view.problems.length > 0, autoFocus: form.fields.length === 0 }}
      backLabel={ACTIONS.back}
      validate={validate}
      onSubmit={start}
      onBack={onBack}
    >
      {view.template.description && <p className={typography.dimmed}>{view.template.description}</p>}
      {view.problems.map((problem) => (
        <p key={problem} className={typography.problem}>
          {problem}
        </p>
      ))}
      <TemplateValues form={form} showErrors={showErrors} autoFocus />
      <ol className={`${typography.dimmed} ${templatesStyles.steps}`}>
        {view.template.steps.map((step) => (
          <li key={step.id}>
            <InlineText text={step.text} />
          </li>
        ))}
      </ol>
      <p className={typography.hint}>{TEMPLATES.use_what}</p>
    </TemplateForm>
  );
}
