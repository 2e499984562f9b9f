// Previews of a plan's changes against the current data, loaded when the plan is shown.
import { useEffect, useState } from "react";
import { fetchPlanPreviews } from "../net/api";
import type { PlanPreviews, PlanView } from "../protocol";

const NONE: PlanPreviews = { version: null, at: "", steps: {}, left_out: 0 };

/** The previews; empty until loaded and on failure, because the user can read and approve the plan without them. */
export function usePreviews(sessionId: string | null, plan: PlanView, enabled: boolean): PlanPreviews {
  const [previews, setPreviews] = useState(NONE);
  useEffect(() => {
    if (!enabled || sessionId === null) return;
    const aborter = new AbortController();
    fetchPlanPreviews(sessionId, aborter.signal)
      .then(setPreviews)
      .catch(() => undefined);
    return () => aborter.abort();
  }, [enabled, sessionId, plan.version]);
  return enabled && previews.version === plan.version ? previews : NONE;
}
