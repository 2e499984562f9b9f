// The values of a template's parameters, and the plan that they make of it, in a session of its own.
import { Button, Loader } from "@mantine/core";
import { useId, useState } from "react";
import { go } from "../app/route";
import { useSession } from "../app/session";
import { carried, useChoice } from "../compose/choice";
import { ACTIONS, SIGNS, TEMPLATES } from "../generated/words";
import { beginWith, template } from "../net/api";
import type { TemplateView } from "../protocol";
import { InlineText } from "../ui/InlineText";
import { reasonOf, useAsked } from "../ui/useAsked";
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
  const title = useId();
  const form = useValues(found.form);
  const [once, setOnce] = useState(() => crypto.randomUUID());
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState("");
  const begin = async () => {
    setTried(true);
    if (Object.keys(form.problems).length > 0) return;
    setBusy(true);
    try {
      const { settings } = carried({ ...choice, workflow: "execution_plan" }, { sessionId: null, snapshot: null });
      go(await beginWith(found.id, form.values, settings ?? {}, once));
      onBegun();
    } catch (error) {
      setRefused(reasonOf(error));
      setOnce(crypto.randomUUID()); // with other values it is another request
      setBusy(false);
    }
  };
  return (
    <form
      className="question-form"
      aria-labelledby={title}
      data-testid="template-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void begin();
      }}
    >
      <h3 id={title}>{found.template.name}</h3>
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
      <div className="decision-buttons">
        <Button type="submit" loading={busy} disabled={found.problems.length > 0} autoFocus={form.fields.length === 0} data-testid="template-begin">
          {TEMPLATES.use_plan}
        </Button>
        <Button variant="subtle" onClick={onBack}>
          {ACTIONS.back}
        </Button>
      </div>
      {refused && <p className="problem" role="alert" data-testid="error">{refused}</p>}
    </form>
  );
}
