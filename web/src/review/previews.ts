// What a plan's changes would make of what is there now: looked up when the plan is shown.
import { useEffect, useState } from "react";
import { previewPlan } from "../net/api";
import type { PlanPreviews, PlanView } from "../protocol";

const NONE: PlanPreviews = { version: null, at: "", steps: {}, left_out: 0 };

/** None until they are there, and none where they cannot be had: the plan is read and approved without them. */
export function usePreviews(sessionId: string | null, plan: PlanView, wanted: boolean): PlanPreviews {
  const [found, setFound] = useState(NONE);
  useEffect(() => {
    if (!wanted || sessionId === null) return;
    const aborter = new AbortController();
    previewPlan(sessionId, aborter.signal)
      .then(setFound)
      .catch(() => undefined);
    return () => aborter.abort();
  }, [wanted, sessionId, plan.version]);
  return wanted && found.version === plan.version ? found : NONE;
}
