// When a template runs by itself: never, daily, or once; and with which values.
import { Loader, SegmentedControl, TextInput } from "@mantine/core";
import { useState } from "react";
import { ACTIONS, fill, SIGNS, TEMPLATES, wordFor } from "../words";
import { fetchTemplate, scheduleTemplate } from "../net/api";
import type { TemplateView } from "../protocol";
import { formatDateTime } from "../ui/format";
import { useFetch } from "../ui/useFetch";
import { isComplete, localZone, toFields, toRequest, WHEN, type When } from "./schedule";
import { TemplateForm } from "./TemplateForm";
import { TemplateValues, useTemplateValues } from "./TemplateValues";
import templatesStyles from "./templates.module.css";
import typography from "../ui/typography.module.css";

export function ScheduleTemplate({ id, onBack }: { id: string; onBack: () => void }) {
  const { data: view, problem } = useFetch((signal) => fetchTemplate(id, signal), id);
  if (problem) return <p className={typography.problem} role="alert">{problem}</p>;
  if (!view) return <Loader size="sm" aria-label={SIGNS.loading} />;
  return <ScheduleForm view={view} onBack={onBack} />;
}

function ScheduleForm({ view, onBack }: { view: TemplateView; onBack: () => void }) {
  const [schedule, setSchedule] = useState(() => toFields(view.schedule));
  const form = useTemplateValues(view.form, `schedule ${view.id}`, view.schedule?.values);
  const [showErrors, setShowErrors] = useState(false);
  const hasRuns = schedule.when !== "by_hand";
  const validate = () => {
    setShowErrors(true);
    return isComplete(schedule) && (!hasRuns || Object.keys(form.problems).length === 0);
  };
  const save = async () => {
    await scheduleTemplate(view.id, view.version, toRequest(schedule, form.values, view.schedule));
    form.clear();
    onBack();
  };
  const timeProblem = showErrors && !isComplete(schedule) ? TEMPLATES.time_needed : undefined;
  return (
    <TemplateForm
      title={view.template.name}
      testId="schedule-form"
      submit={{ label: TEMPLATES.schedule_save, testId: "schedule-save" }}
      backLabel={ACTIONS.back}
      validate={validate}
      onSubmit={save}
      onBack={onBack}
    >
      <SegmentedControl
        aria-label={TEMPLATES.when}
        value={schedule.when}
        onChange={(when) => setSchedule({ ...schedule, when: when as When })}
        data={WHEN.map((value) => ({ value, label: wordFor(TEMPLATES, value) ?? value }))}
        data-testid="schedule-when"
      />
      {schedule.when === "daily" && (
        <TextInput
          type="time"
          label={TEMPLATES.time}
          description={fill(TEMPLATES.time_zone, { zone: schedule.zone })}
          error={timeProblem}
          value={schedule.time}
          onChange={(event) => setSchedule({ ...schedule, time: event.currentTarget.value })}
          data-testid="schedule-time"
        />
      )}
      {schedule.when === "once" && (
        <TextInput
          type="datetime-local"
          label={TEMPLATES.date}
          description={fill(TEMPLATES.time_zone, { zone: localZone() })}
          error={timeProblem}
          value={schedule.date}
          onChange={(event) => setSchedule({ ...schedule, date: event.currentTarget.value })}
          data-testid="schedule-date"
        />
      )}
      {hasRuns && form.fields.length > 0 && (
        <fieldset className={templatesStyles.values}>
          <legend>{TEMPLATES.values}</legend>
          <TemplateValues form={form} showErrors={showErrors} />
        </fieldset>
      )}
      {hasRuns && <p className={typography.hint}>{TEMPLATES.schedule_what}</p>}
      <LastRun view={view} />
    </TemplateForm>
  );
}

function LastRun({ view: { last_run: run } }: { view: TemplateView }) {
  if (!run) return null;
  const at = formatDateTime(run.due);
  return run.problem ? <p className={typography.problem}>{fill(TEMPLATES.last_failed, { at, problem: run.problem })}</p> : <p className={typography.hint}>{fill(TEMPLATES.last_run, { at })}</p>;
}
