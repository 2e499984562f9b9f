// A session's plan, or what the session did, as a template: its name, and which of its values are asked for when it is used.
import { Button, Checkbox, Loader, Modal, TextInput } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useState } from "react";
import { ACTIONS, fill, SIGNS, TEMPLATES } from "../generated/words";
import { candidates, saveTemplate, type TemplateSource } from "../net/api";
import type { CandidatePage, TemplateView } from "../protocol";
import { useFocusBack } from "../ui/hooks";
import { useAsked } from "../ui/useAsked";
import { inline } from "../ui/values";
import { TemplateForm } from "./TemplateForm";

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,31}$/;

interface Opened {
  sessionId: string;
  source: TemplateSource;
  onClose: () => void;
}

export default function SaveTemplate({ sessionId, source, onClose }: Opened) {
  const narrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const { answer: found, problem } = useAsked((signal) => candidates(source, sessionId, signal), sessionId);
  const [saved, setSaved] = useState<TemplateView | null>(null);
  useFocusBack();
  return (
    <Modal opened onClose={onClose} returnFocus={false} size="lg" fullScreen={narrow} title={TEMPLATES.save} closeButtonProps={{ "aria-label": SIGNS.close_message }}>
      {problem && <p className="problem" role="alert">{problem}</p>}
      {!found && !problem && <Loader size="sm" aria-label={SIGNS.loading} />}
      {found && !saved && <Form sessionId={sessionId} source={source} found={found} onSaved={setSaved} onClose={onClose} />}
      {saved && (
        <>
          <p role="status" data-testid="template-saved">
            {fill(TEMPLATES.saved, { name: saved.template.name })}
          </p>
          {saved.problems.map((problem) => (
            <p key={problem} className="problem">
              {problem}
            </p>
          ))}
          <Button variant="default" onClick={onClose} autoFocus data-testid="template-close">
            {ACTIONS.close}
          </Button>
        </>
      )}
    </Modal>
  );
}

interface Props extends Opened {
  found: CandidatePage;
  onSaved: (saved: TemplateView) => void;
}

function Form({ sessionId, source, found, onSaved, onClose }: Props) {
  const [name, setName] = useState(found.name);
  const [names, setNames] = useState(() => found.values.map((one) => one.name));
  const [chosen, setChosen] = useState<readonly number[]>([]);
  const wrong = (at: number) => chosen.includes(at) && !NAME.test(names[at] ?? "");
  const save = async () => {
    const parameters = chosen.toSorted((a, b) => a - b).map((at) => ({ name: names[at] ?? "", value: found.values[at]?.value }));
    onSaved(await saveTemplate(source, sessionId, name.trim(), parameters));
  };
  return (
    <TemplateForm
      testId="template-save-form"
      submit={{ label: TEMPLATES.save, testId: "template-save" }}
      back={ACTIONS.cancel}
      complete={() => !chosen.some(wrong)}
      onSubmit={save}
      onBack={onClose}
    >
      <TextInput label={TEMPLATES.name} maxLength={200} value={name} onChange={(event) => setName(event.currentTarget.value)} autoFocus data-testid="template-name" />
      <fieldset className="template-values">
        <legend>{TEMPLATES.parameters}</legend>
        <p className="hint">{found.values.length > 0 ? TEMPLATES.parameters_hint : TEMPLATES.parameters_none}</p>
        {found.values.map((one, at) => (
          <div key={at} className="template-value" data-testid="template-value">
            <Checkbox
              label={
                <>
                  <span className="dimmed">{one.argument.replaceAll("_", " ")}</span> {inline(one.value)}
                </>
              }
              checked={chosen.includes(at)}
              onChange={(event) => setChosen(event.currentTarget.checked ? [...chosen, at] : chosen.filter((other) => other !== at))}
            />
            {chosen.includes(at) && (
              <TextInput
                size="xs"
                aria-label={fill(TEMPLATES.parameter_name, { value: inline(one.value) })}
                value={names[at] ?? ""}
                error={wrong(at) ? TEMPLATES.parameter_wrong : undefined}
                onChange={(event) => setNames(names.with(at, event.currentTarget.value))}
              />
            )}
          </div>
        ))}
      </fieldset>
    </TemplateForm>
  );
}
