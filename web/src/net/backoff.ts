// How long to wait before the next try: growing, and different for every page that lost the same gateway.

const FIRST = 300;
const MOST = 15_000;

/** Milliseconds before try number `attempt` (0, 1, …); `random` is in 0..1. */
export function backoff(attempt: number, random: number): number {
  const ceiling = Math.min(MOST, FIRST * 2 ** attempt);
  return Math.round(ceiling * (0.5 + random / 2));
}
