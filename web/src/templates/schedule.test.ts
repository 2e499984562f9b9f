import { describe, expect, it } from "vitest";
import type { Schedule } from "../protocol";
import { isComplete, localZone, toFields, toRequest } from "./schedule";

const DAILY: Schedule = { daily: "07:30:00", zone: "Asia/Tokyo", values: { order: "#W1" } };

describe("fields of a schedule", () => {
  it("keep the time zone of a daily time", () => {
    const fields = toFields(DAILY);
    expect(fields).toEqual({ when: "daily", time: "07:30", date: "", zone: "Asia/Tokyo" });
    expect(toRequest({ ...fields, time: "08:00" }, DAILY.values, DAILY)).toEqual({ daily: "08:00", zone: "Asia/Tokyo", values: { order: "#W1" } });
  });

  it("default to \"by hand\" and this browser's zone without a schedule", () => {
    expect(toFields(null)).toEqual({ when: "by_hand", time: "", date: "", zone: localZone() });
    expect(toRequest(toFields(null), {}, DAILY)).toBeNull();
  });

  it("convert a local date to an instant in the request, and back", () => {
    const date = "2026-12-24T18:05";
    const request = toRequest({ when: "once", time: "", date, zone: localZone() }, {}, null);
    expect(request?.once).toBe(new Date(2026, 11, 24, 18, 5).toISOString());
    expect(toFields({ once: request?.once ?? "", zone: "UTC", values: {} }).date).toBe(date);
  });

  it("keep the schedule's settings for its runs", () => {
    const settings = { approval: "always" } as unknown as NonNullable<Schedule["settings"]>;
    expect(toRequest(toFields(DAILY), {}, { ...DAILY, settings })?.settings).toBe(settings);
  });

  it("are complete once the selected kind has its time or date", () => {
    expect(isComplete({ when: "by_hand", time: "", date: "", zone: "UTC" })).toBe(true);
    expect(isComplete({ when: "daily", time: "", date: "2026-12-24T18:05", zone: "UTC" })).toBe(false);
    expect(isComplete({ when: "once", time: "07:00", date: "", zone: "UTC" })).toBe(false);
    expect(isComplete({ when: "once", time: "", date: "2026-12-24T18:05", zone: "UTC" })).toBe(true);
  });
});
