import { describe, expect, it } from "vitest";
import type { Schedule } from "../protocol";
import { isComplete, ownZone, toForm, toRequest } from "./schedule";

const DAILY: Schedule = { daily: "07:30:00", zone: "Asia/Tokyo", values: { order: "#W1" } };

describe("a schedule in a form", () => {
  it("keeps the zone in which a daily time was set", () => {
    const form = toForm(DAILY);
    expect(form).toEqual({ when: "daily", time: "07:30", date: "", zone: "Asia/Tokyo" });
    expect(toRequest({ ...form, time: "08:00" }, DAILY.values, DAILY)).toEqual({ daily: "08:00", zone: "Asia/Tokyo", values: { order: "#W1" } });
  });

  it("is by hand where there is none, in this browser's zone", () => {
    expect(toForm(null)).toEqual({ when: "by_hand", time: "", date: "", zone: ownZone() });
    expect(toRequest(toForm(null), {}, DAILY)).toBeNull();
  });

  it("sends an instant for a date of this browser's clock, and shows it again", () => {
    const date = "2026-12-24T18:05";
    const sent = toRequest({ when: "once", time: "", date, zone: ownZone() }, {}, null);
    expect(sent?.once).toBe(new Date(2026, 11, 24, 18, 5).toISOString());
    expect(toForm({ once: sent?.once ?? "", zone: "UTC", values: {} }).date).toBe(date);
  });

  it("keeps the settings of its runs", () => {
    const settings = { approval: "always" } as unknown as NonNullable<Schedule["settings"]>;
    expect(toRequest(toForm(DAILY), {}, { ...DAILY, settings })?.settings).toBe(settings);
  });

  it("needs the time of what was isComplete, and no other", () => {
    expect(isComplete({ when: "by_hand", time: "", date: "", zone: "UTC" })).toBe(true);
    expect(isComplete({ when: "daily", time: "", date: "2026-12-24T18:05", zone: "UTC" })).toBe(false);
    expect(isComplete({ when: "once", time: "07:00", date: "", zone: "UTC" })).toBe(false);
    expect(isComplete({ when: "once", time: "", date: "2026-12-24T18:05", zone: "UTC" })).toBe(true);
  });
});
