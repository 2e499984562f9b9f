// When a template is run by itself: never, each day, or once; and with which values.
import { Button, Loader, SegmentedControl, TextInput } from "@mantine/core";
import { useId, useState } from "react";
import { ACTIONS, fill, named, SIGNS, TEMPLATES } from "../generated/words";
import { scheduleTemplate, template } from "../net/api";
import type { TemplateView } from "../protocol";
import { moment } from "../ui/format";
import { reasonOf, useAsked } from "../ui/useAsked";
import { chosen, enteredOf, ownZone, sentOf, WHEN, type When } from "./schedule";
import { Values, useValues } from "./Values";

export function ScheduleTemplate({ id, onBack }: { id: string; onBack: () => void }) {
  const { answer: found, problem } = useAsked((signal) => template(id, signal), id);
  if (problem) return <p className="problem" role="alert">{problem}</p>;
  if (!found) return <Loader size="sm" aria-label={SIGNS.loading} />;
  return <Form found={found} onBack={onBack} />;
}

function Form({ found, onBack }: { found: TemplateView; onBack: () => void }) {
  const title = useId();
  const [entered, setEntered] = useState(() => enteredOf(found.schedule));
  const form = useValues(found.form, found.schedule?.values);
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState("");
  const runs = entered.when !== "by_hand";
  const save = async () => {
    setTried(true);
    if (!chosen(entered) || (runs && Object.keys(form.problems).length > 0)) return;
    setBusy(true);
    try {
      await scheduleTemplate(found.id, found.version, sentOf(entered, form.values, found.schedule));
      onBack();
    } catch (error) {
      setRefused(reasonOf(error));
      setBusy(false);
    }
  };
  const missing = tried && !chosen(entered) ? TEMPLATES.time_needed : undefined;
  return (
    <form
      className="question-form"
      aria-labelledby={title}
      data-testid="schedule-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <h3 id={title}>{found.template.name}</h3>
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
      <div className="decision-buttons">
        <Button type="submit" loading={busy} data-testid="schedule-save">
          {TEMPLATES.schedule_save}
        </Button>
        <Button variant="subtle" onClick={onBack}>
          {ACTIONS.back}
        </Button>
      </div>
      {refused && <p className="problem" role="alert" data-testid="error">{refused}</p>}
    </form>
  );
}

function LastRun({ found: { last_run: run } }: { found: TemplateView }) {
  if (!run) return null;
  const at = moment(run.due);
  return run.problem ? <p className="problem">{fill(TEMPLATES.last_failed, { at, problem: run.problem })}</p> : <p className="hint">{fill(TEMPLATES.last_run, { at })}</p>;
}
