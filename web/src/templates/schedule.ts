// A template's schedule, as a form holds it and as it is sent. Pure.
import type { Schedule } from "../protocol";

export const WHEN = ["by_hand", "daily", "once"] as const;
export type When = (typeof WHEN)[number];

/** `time` is HH:MM in `zone`; `date` is a date and a time in this browser's zone. "": not filled in. */
export interface EnteredSchedule {
  when: When;
  time: string;
  date: string;
  zone: string;
}

export type SentSchedule = Pick<Schedule, "daily" | "once" | "zone" | "settings"> & { values: Record<string, unknown> };

export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The form of a schedule. A daily time keeps the zone that it was set in; an instant is shown in this browser's. */
export function toForm(schedule: Schedule | null): EnteredSchedule {
  const none = { when: "by_hand", time: "", date: "", zone: ownZone() } as const;
  if (schedule?.daily) return { ...none, when: "daily", time: schedule.daily.slice(0, 5), zone: schedule.zone };
  if (schedule?.once) return { ...none, when: "once", date: toLocalInput(new Date(schedule.once)) };
  return none;
}

/** The text that <input type="datetime-local"> takes. */
function toLocalInput(at: Date): string {
  const two = (number: number) => String(number).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** Whether the time that the choice needs is filled in. */
export function isComplete({ when, time, date }: EnteredSchedule): boolean {
  if (when === "by_hand") return true;
  return when === "daily" ? time !== "" : !Number.isNaN(Date.parse(date));
}

/** What is sent, with `values` for the parameters; null: it runs by hand only. Settings of the runs stay as they were. */
export function toRequest({ when, time, date, zone }: EnteredSchedule, values: Record<string, unknown>, before: Schedule | null): SentSchedule | null {
  const common = { values, ...(before?.settings ? { settings: before.settings } : {}) };
  if (when === "by_hand") return null;
  return when === "daily" ? { daily: time, zone, ...common } : { once: new Date(date).toISOString(), zone, ...common };
}
