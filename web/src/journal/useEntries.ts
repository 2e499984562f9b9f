import { useMemo } from "react";
import { useSession } from "../app/session";
import { type Entry, entries } from "./entries";

/** The journal as it is drawn. */
export function useEntries(): readonly Entry[] {
  const { journal, events } = useSession().state;
  return useMemo(() => entries(journal, events), [journal, events]);
}
