import { useMemo } from "react";
import { useSession } from "../app/sessionContext";
import { buildEntries, type Entry } from "./entries";

/** The journal for display. */
export function useEntries(): readonly Entry[] {
  const { journal, events } = useSession(({ state: { journal, events } }) => ({ journal, events }));
  return useMemo(() => buildEntries(journal, events), [journal, events]);
}
