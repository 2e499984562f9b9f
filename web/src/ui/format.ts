// Numbers, times and names for display.
import { STATES, wordFor } from "../words";

export function formatCount(value: number): string {
  if (value < 1000) return String(value);
  if (value < 1_000_000) return `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

export function formatMoney(dollars: number): string {
  if (dollars === 0) return "$0";
  return dollars < 0.01 ? `$${dollars.toFixed(4)}` : `$${dollars.toFixed(2)}`;
}

export function formatTime(iso: string): string {
  return new Date(iso).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

/** Day and time in the browser's locale. */
export function formatDateTime(iso: string): string {
  return new Date(iso).toLocaleString([], { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

/** "just now", "5 min", "3 h", then the date. */
export function formatAge(iso: string, now: number): string {
  const seconds = (now - Date.parse(iso)) / 1000;
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return new Date(iso).toLocaleDateString([], { day: "numeric", month: "short" });
}

/**
 * The state of a session, with the same words in the header and in lists. `unfinished`: its plan waits for the user.
 */
export function stateLabel({ state, paused, reason, unfinished }: { state: string; paused: boolean; reason: string; unfinished: boolean }): string {
  if (paused) return STATES.paused;
  if (state === "completed" && reason === "answered") return unfinished ? STATES.unfinished : STATES.answered;
  return wordFor(STATES, state) ?? state.replaceAll("_", " ");
}

export function pluralize(value: number, noun: string): string {
  return `${value} ${noun}${value === 1 ? "" : "s"}`;
}
