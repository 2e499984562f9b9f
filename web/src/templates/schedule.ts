// When a template is run by itself: as a form holds it, and as it is sent. Pure.
import type { Schedule } from "../protocol";

export const WHEN = ["by_hand", "daily", "once"] as const;
export type When = (typeof WHEN)[number];

/** `time` is HH:MM in `zone`; `date` is a date and a time of this browser's clock. "" where nothing is chosen. */
export interface EnteredSchedule {
  when: When;
  time: string;
  date: string;
  zone: string;
}

export type SentSchedule = Pick<Schedule, "daily" | "once" | "zone" | "settings"> & { values: Record<string, unknown> };

export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A daily time keeps the zone that it was set in. */
export function enteredOf(schedule: Schedule | null): EnteredSchedule {
  const none = { when: "by_hand", time: "", date: "", zone: ownZone() } as const;
  if (schedule?.daily) return { ...none, when: "daily", time: schedule.daily.slice(0, 5), zone: schedule.zone };
  if (schedule?.once) return { ...none, when: "once", date: localOf(new Date(schedule.once)) };
  return none;
}

/** As <input type="datetime-local"> has it. */
function localOf(at: Date): string {
  const two = (number: number) => String(number).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** Whether the time that the choice needs has been chosen. */
export const chosen = ({ when, time, date }: EnteredSchedule): boolean => when === "by_hand" || (when === "daily" ? time !== "" : !Number.isNaN(Date.parse(date)));

/** null: it is run by hand only. The settings of the runs stay as they were. */
export function sentOf({ when, time, date, zone }: EnteredSchedule, values: Record<string, unknown>, before: Schedule | null): SentSchedule | null {
  const same = { values, ...(before?.settings ? { settings: before.settings } : {}) };
  if (when === "by_hand") return null;
  return when === "daily" ? { daily: time, zone, ...same } : { once: new Date(date).toISOString(), zone, ...same };
}
