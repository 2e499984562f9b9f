// Saves a session's plan or its actions as a template: its name, and the values that become parameters.
import { Button, Checkbox, Loader, Modal, TextInput } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useState } from "react";
import { ACTIONS, fill, SIGNS, TEMPLATES } from "../words";
import { fetchCandidates, saveTemplate, type TemplateSource } from "../net/api";
import type { CandidatePage, TemplateView } from "../protocol";
import { useRestoreFocus } from "../ui/hooks";
import { useFetch } from "../ui/useFetch";
import { formatInline } from "../ui/values";
import { TemplateForm } from "./TemplateForm";
import templatesStyles from "./templates.module.css";
import typography from "../ui/typography.module.css";

const PARAMETER_NAME = /^[A-Za-z][A-Za-z0-9_]{0,31}$/;

interface DialogProps {
  sessionId: string;
  source: TemplateSource;
  onClose: () => void;
}

export default function SaveTemplate({ sessionId, source, onClose }: DialogProps) {
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const { data: candidates, problem } = useFetch((signal) => fetchCandidates(source, sessionId, signal), sessionId);
  const [saved, setSaved] = useState<TemplateView | null>(null);
  useRestoreFocus();
  return (
    <Modal opened onClose={onClose} returnFocus={false} size="lg" fullScreen={isNarrow} title={TEMPLATES.save} closeButtonProps={{ "aria-label": SIGNS.close_message }}>
      {problem && <p className={typography.problem} role="alert">{problem}</p>}
      {!candidates && !problem && <Loader size="sm" aria-label={SIGNS.loading} />}
      {candidates && !saved && <SaveForm sessionId={sessionId} source={source} candidates={candidates} onSaved={setSaved} onClose={onClose} />}
      {saved && (
        <>
          <p role="status" data-testid="template-saved">
            {fill(TEMPLATES.saved, { name: saved.template.name })}
          </p>
          {saved.problems.map((problem) => (
            <p key={problem} className={typography.problem}>
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

interface SaveFormProps extends DialogProps {
  candidates: CandidatePage;
  onSaved: (saved: TemplateView) => void;
}

function SaveForm({ sessionId, source, candidates, onSaved, onClose }: SaveFormProps) {
  const [name, setName] = useState(candidates.name);
  const [names, setNames] = useState(() => candidates.values.map((candidate) => candidate.name));
  const [selected, setSelected] = useState<readonly number[]>([]);
  const isInvalid = (index: number) => selected.includes(index) && !PARAMETER_NAME.test(names[index] ?? "");
  const save = async () => {
    const parameters = selected.toSorted((a, b) => a - b).map((index) => ({ name: names[index] ?? "", value: candidates.values[index]?.value }));
    onSaved(await saveTemplate(source, sessionId, name.trim(), parameters));
  };
  return (
    <TemplateForm
      testId="template-save-form"
      submit={{ label: TEMPLATES.save, testId: "template-save" }}
      backLabel={ACTIONS.cancel}
      validate={() => !selected.some(isInvalid)}
      onSubmit={save}
      onBack={onClose}
    >
      <TextInput label={TEMPLATES.name} maxLength={200} value={name} onChange={(event) => setName(event.currentTarget.value)} autoFocus data-testid="template-name" />
      <fieldset className={templatesStyles.values}>
        <legend>{TEMPLATES.parameters}</legend>
        <p className={typography.hint}>{candidates.values.length > 0 ? TEMPLATES.parameters_hint : TEMPLATES.parameters_none}</p>
        {candidates.values.map((candidate, index) => (
          <div key={index} className={templatesStyles.value} data-testid="template-value">
            <Checkbox
              label={
                <>
                  <span className={typography.dimmed}>{candidate.argument.replaceAll("_", " ")}</span> {formatInline(candidate.value)}
                </>
              }
              checked={selected.includes(index)}
              onChange={(event) => setSelected(event.currentTarget.checked ? [...selected, index] : selected.filter((other) => other !== index))}
            />
            {selected.includes(index) && (
              <TextInput
                size="xs"
                aria-label={fill(TEMPLATES.parameter_name, { value: formatInline(candidate.value) })}
                value={names[index] ?? ""}
                error={isInvalid(index) ? TEMPLATES.parameter_wrong : undefined}
                onChange={(event) => setNames(names.with(index, event.currentTarget.value))}
              />
            )}
          </div>
        ))}
      </fieldset>
    </TemplateForm>
  );
}
