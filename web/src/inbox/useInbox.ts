import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useState } from "react";
import { fetchInbox, type SessionSummary } from "../net/api";

const PAGE_SIZE = 50;
const POLL_INTERVAL_MS = 15_000; // how often to check other sessions

export interface InboxState {
  sessions: SessionSummary[] | null;
  total: number;
}

/** Loads the inbox when `revision` changes, when the panel opens, and regularly. */
export function useInbox(revision: string, opened: boolean): InboxState {
  const [waiting, setWaiting] = useState<InboxState>({ sessions: null, total: 0 });
  const [debouncedRevision] = useDebouncedValue(revision, 500);
  useEffect(() => {
    const aborter = new AbortController();
    const load = async () => {
      try {
        const { sessions, total } = await fetchInbox(PAGE_SIZE, aborter.signal);
        setWaiting({ sessions, total });
      } catch {
        // keep the previous list until the next attempt
      }
    };
    void load();
    const timer = setInterval(() => void load(), POLL_INTERVAL_MS); // also in a hidden tab, whose title shows the count
    return () => {
      aborter.abort();
      clearInterval(timer);
    };
  }, [debouncedRevision, opened]);
  return waiting;
}
