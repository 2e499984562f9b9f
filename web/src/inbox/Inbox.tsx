// How many sessions wait for the person, and the list of them: in the header, whichever session is on the screen.
import { ActionIcon } from "@mantine/core";
import { useDebouncedValue, useDisclosure } from "@mantine/hooks";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { useSession } from "../app/session";
import { fill, PAGE } from "../generated/words";
import { inbox, type SessionSummary } from "../net/api";
import { Inbox as Sign } from "../ui/icons";

const InboxPanel = lazy(() => import("./InboxPanel"));
const SHOWN = 50;
const LOOK = 15_000; // milliseconds: what waits in other sessions

export interface Waiting {
  list: SessionSummary[] | null;
  total: number;
}

export function Inbox() {
  const { state } = useSession();
  const [opened, { open, close }] = useDisclosure(false);
  const button = useRef<HTMLButtonElement>(null);
  const [loaded, setLoaded] = useState(false);
  if (opened && !loaded) setLoaded(true);
  const { snapshot } = state;
  const waiting = useInbox(`${snapshot?.session_id} ${snapshot?.state}`, opened);
  useEffect(() => {
    document.title = tabTitle(waiting.total, snapshot?.title ?? "");
  }, [waiting.total, snapshot?.title]);
  const chosen = useRef(false);
  const choose = () => {
    chosen.current = true;
    close();
  };
  const closed = () => {
    if (!chosen.current) button.current?.focus();
    chosen.current = false;
  };
  const said = waiting.total === 0 ? PAGE.waiting_none : waiting.total === 1 ? PAGE.waiting_one : fill(PAGE.waiting_count, { count: waiting.total });
  return (
    <>
      <ActionIcon ref={button} className="inbox-button" variant="subtle" color="gray" size="lg" onClick={open} aria-label={said} title={said} aria-expanded={opened} data-testid="inbox">
        <Sign />
        {waiting.total > 0 && (
          <span className="inbox-count" data-testid="inbox-count" aria-hidden="true">
            {waiting.total > 99 ? "99+" : waiting.total}
          </span>
        )}
      </ActionIcon>
      {loaded && (
        <Suspense fallback={null}>
          <InboxPanel opened={opened} waiting={waiting} current={state.sessionId} onClose={close} onClosed={closed} onChosen={choose} />
        </Suspense>
      )}
    </>
  );
}

/** "(2) A calculator · Parley": how many sessions need the person is seen from another tab. */
export function tabTitle(waiting: number, title: string): string {
  return `${waiting > 0 ? `(${waiting}) ` : ""}${title ? `${title} · ` : ""}Parley`;
}

/** Asked again when the session on the screen has `changed`, when the panel opens, and now and then. */
function useInbox(changed: string, opened: boolean): Waiting {
  const [waiting, setWaiting] = useState<Waiting>({ list: null, total: 0 });
  const [settled] = useDebouncedValue(changed, 500);
  useEffect(() => {
    const aborter = new AbortController();
    const load = async () => {
      try {
        const { sessions, total } = await inbox(SHOWN, aborter.signal);
        setWaiting({ list: sessions, total });
      } catch {
        // what was known stays until the next time
      }
    };
    void load();
    const timer = setInterval(() => void load(), LOOK); // hidden, too: the tab tells how many wait
    return () => {
      aborter.abort();
      clearInterval(timer);
    };
  }, [settled, opened]);
  return waiting;
}
