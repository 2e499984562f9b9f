import { useMemo } from "react";
import { useSession } from "../app/sessionContext";
import { buildEntries, type Entry } from "./entries";

/** The journal for display. */
export function useEntries(): readonly Entry[] {
  const journal = useSession(({ state }) => state.journal);
  return useMemo(() => buildEntries(journal), [journal]);
}
