// A template's schedule as form fields and as a request. Pure.
import type { Schedule } from "../protocol";

export const WHEN = ["by_hand", "daily", "once"] as const;
export type When = (typeof WHEN)[number];

/** `time` is HH:MM in `zone`; `date` is a date and time in this browser's zone. "" means empty. */
interface ScheduleFields {
  when: When;
  time: string;
  date: string;
  zone: string;
}

export type ScheduleRequest = Pick<Schedule, "daily" | "once" | "zone" | "settings"> & { values: Record<string, unknown> };

export const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The form fields of a schedule. A daily time keeps its own zone; an instant is shown in this browser's zone. */
export function toFields(schedule: Schedule | null): ScheduleFields {
  const none = { when: "by_hand", time: "", date: "", zone: localZone() } as const;
  if (schedule?.daily) return { ...none, when: "daily", time: schedule.daily.slice(0, 5), zone: schedule.zone };
  if (schedule?.once) return { ...none, when: "once", date: toLocalInput(new Date(schedule.once)) };
  return none;
}

/** The format of <input type="datetime-local">. */
function toLocalInput(date: Date): string {
  const padded = (number: number) => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${padded(date.getMonth() + 1)}-${padded(date.getDate())}`;
  return `${day}T${padded(date.getHours())}:${padded(date.getMinutes())}`;
}

/** Whether the selected kind has its time. */
export function isComplete({ when, time, date }: ScheduleFields): boolean {
  if (when === "by_hand") return true;
  return when === "daily" ? time !== "" : !Number.isNaN(Date.parse(date));
}

/** The request, with `values` for the parameters; null: runs by hand only. The settings of the runs do not change. */
export function toRequest({ when, time, date, zone }: ScheduleFields, values: Record<string, unknown>, previous: Schedule | null): ScheduleRequest | null {
  const common = { values, ...(previous?.settings ? { settings: previous.settings } : {}) };
  if (when === "by_hand") return null;
  return when === "daily" ? { daily: time, zone, ...common } : { once: new Date(date).toISOString(), zone, ...common };
}
