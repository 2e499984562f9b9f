// When a template is run by itself: never, each day, or once; and with which values.
import { Loader, SegmentedControl, TextInput } from "@mantine/core";
import { useState } from "react";
import { ACTIONS, fill, named, SIGNS, TEMPLATES } from "../generated/words";
import { scheduleTemplate, template } from "../net/api";
import type { TemplateView } from "../protocol";
import { moment } from "../ui/format";
import { useAsked } from "../ui/useAsked";
import { isComplete, ownZone, toForm, toRequest, WHEN, type When } from "./schedule";
import { TemplateForm } from "./TemplateForm";
import { Values, useValues } from "./Values";

export function ScheduleTemplate({ id, onBack }: { id: string; onBack: () => void }) {
  const { answer: found, problem } = useAsked((signal) => template(id, signal), id);
  if (problem) return <p className="problem" role="alert">{problem}</p>;
  if (!found) return <Loader size="sm" aria-label={SIGNS.loading} />;
  return <Form found={found} onBack={onBack} />;
}

function Form({ found, onBack }: { found: TemplateView; onBack: () => void }) {
  const [entered, setEntered] = useState(() => toForm(found.schedule));
  const form = useValues(found.form, found.schedule?.values);
  const [tried, setTried] = useState(false);
  const runs = entered.when !== "by_hand";
  const complete = () => {
    setTried(true);
    return isComplete(entered) && (!runs || Object.keys(form.problems).length === 0);
  };
  const save = async () => {
    await scheduleTemplate(found.id, found.version, toRequest(entered, form.values, found.schedule));
    onBack();
  };
  const missing = tried && !isComplete(entered) ? TEMPLATES.time_needed : undefined;
  return (
    <TemplateForm
      title={found.template.name}
      testId="schedule-form"
      submit={{ label: TEMPLATES.schedule_save, testId: "schedule-save" }}
      back={ACTIONS.back}
      complete={complete}
      onSubmit={save}
      onBack={onBack}
    >
      <SegmentedControl
        aria-label={TEMPLATES.when}
        value={entered.when}
        onChange={(when) => setEntered({ ...entered, when: when as When })}
        data={WHEN.map((value) => ({ value, label: named(TEMPLATES, value) ?? value }))}
        data-testid="schedule-when"
      />
      {entered.when === "daily" && (
        <TextInput
          type="time"
          label={TEMPLATES.time}
          description={fill(TEMPLATES.time_zone, { zone: entered.zone })}
          error={missing}
          value={entered.time}
          onChange={(event) => setEntered({ ...entered, time: event.currentTarget.value })}
          data-testid="schedule-time"
        />
      )}
      {entered.when === "once" && (
        <TextInput
          type="datetime-local"
          label={TEMPLATES.date}
          description={fill(TEMPLATES.time_zone, { zone: ownZone() })}
          error={missing}
          value={entered.date}
          onChange={(event) => setEntered({ ...entered, date: event.currentTarget.value })}
          data-testid="schedule-date"
        />
      )}
      {runs && form.fields.length > 0 && (
        <fieldset className="template-values">
          <legend>{TEMPLATES.values}</legend>
          <Values form={form} tried={tried} />
        </fieldset>
      )}
      {runs && <p className="hint">{TEMPLATES.schedule_what}</p>}
      <LastRun found={found} />
    </TemplateForm>
  );
}

function LastRun({ found: { last_run: run } }: { found: TemplateView }) {
  if (!run) return null;
  const at = moment(run.due);
  return run.problem ? <p className="problem">{fill(TEMPLATES.last_failed, { at, problem: run.problem })}</p> : <p className="hint">{fill(TEMPLATES.last_run, { at })}</p>;
}
