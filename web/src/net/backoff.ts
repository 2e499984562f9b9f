// Exponential backoff with jitter, so that many pages do not reconnect at the same moment.

const BASE_DELAY_MS = 300;
const MAX_DELAY_MS = 15_000;

/** The delay in milliseconds before retry number `attempt` (0, 1, …); `random` is in 0..1. */
export function backoff(attempt: number, random: number): number {
  const ceiling = Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** attempt);
  return Math.round(ceiling * (0.5 + random / 2));
}
