// The values of a template's parameters, and the plan that they make of it, in a session of its own.
import { Loader } from "@mantine/core";
import { useState } from "react";
import { go } from "../app/route";
import { useSession } from "../app/session";
import { carried, useChoice } from "../compose/choice";
import { ACTIONS, SIGNS, TEMPLATES } from "../generated/words";
import { beginWith, template } from "../net/api";
import type { TemplateView } from "../protocol";
import { InlineText } from "../ui/InlineText";
import { useAsked } from "../ui/useAsked";
import { TemplateForm } from "./TemplateForm";
import { Values, useValues } from "./Values";

interface Props {
  id: string;
  onBack: () => void;
  onBegun: () => void;
}

export function UseTemplate({ id, onBack, onBegun }: Props) {
  const { answer: found, problem } = useAsked((signal) => template(id, signal), id);
  if (problem) return <p className="problem" role="alert">{problem}</p>;
  if (!found) return <Loader size="sm" aria-label={SIGNS.loading} />;
  return <Form found={found} onBack={onBack} onBegun={onBegun} />;
}

function Form({ found, onBack, onBegun }: Omit<Props, "id"> & { found: TemplateView }) {
  const { state } = useSession();
  const { choice } = useChoice(state);
  const form = useValues(found.form);
  const [tried, setTried] = useState(false);
  const complete = () => {
    setTried(true);
    return Object.keys(form.problems).length === 0;
  };
  const begin = async () => {
    const { settings } = carried({ ...choice, workflow: "execution_plan" }, { sessionId: null, snapshot: null });
    go(await beginWith(found.id, form.values, settings ?? {}));
    onBegun();
  };
  return (
    <TemplateForm
      title={found.template.name}
      testId="template-form"
      submit={{ label: TEMPLATES.use_plan, testId: "template-begin", disabled: found.problems.length > 0, autoFocus: form.fields.length === 0 }}
      back={ACTIONS.back}
      complete={complete}
      onSubmit={begin}
      onBack={onBack}
    >
      {found.template.description && <p className="dimmed">{found.template.description}</p>}
      {found.problems.map((problem) => (
        <p key={problem} className="problem">
          {problem}
        </p>
      ))}
      <Values form={form} tried={tried} autoFocus />
      <ol className="dimmed template-steps">
        {found.template.steps.map((step) => (
          <li key={step.id}>
            <InlineText text={step.text} />
          </li>
        ))}
      </ol>
      <p className="hint">{TEMPLATES.use_what}</p>
    </TemplateForm>
  );
}
