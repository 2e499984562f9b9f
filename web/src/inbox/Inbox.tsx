// The inbox button in the header: how many sessions wait for the user, and the panel that lists them.
import { ActionIcon } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { lazy, useEffect, useRef, useState } from "react";
import { useSession } from "../app/sessionContext";
import { fill, PAGE } from "../words";
import { LazyBoundary } from "../ui/LazyBoundary";
import { InboxIcon as Sign } from "../ui/icons";
import { useInbox } from "./useInbox";
import styles from "./Inbox.module.css";

const InboxPanel = lazy(() => import("./InboxPanel"));

export function Inbox() {
  const sessionId = useSession(({ state }) => state.sessionId);
  const title = useSession(({ state }) => state.snapshot?.title ?? "");
  const revision = useSession(({ state: { snapshot } }) => `${snapshot?.session_id} ${snapshot?.state} ${snapshot?.reply?.version}`);
  const [isOpen, { open, close }] = useDisclosure(false);
  const button = useRef<HTMLButtonElement>(null);
  const [isLoaded, setIsLoaded] = useState(false);
  if (isOpen && !isLoaded) setIsLoaded(true);
  const waiting = useInbox(revision, isOpen);
  useEffect(() => {
    document.title = tabTitle(waiting.total, title);
  }, [waiting.total, title]);
  const hasSelected = useRef(false);
  const select = () => {
    hasSelected.current = true;
    close();
  };
  const restoreFocus = () => {
    if (!hasSelected.current) button.current?.focus();
    hasSelected.current = false;
  };
  const label = waiting.total === 0 ? PAGE.waiting_none : waiting.total === 1 ? PAGE.waiting_one : fill(PAGE.waiting_count, { count: waiting.total });
  return (
    <>
      <ActionIcon ref={button} className={styles.button} variant="subtle" color="gray" size="lg" onClick={open} aria-label={label} title={label} aria-expanded={isOpen} data-testid="inbox">
        <Sign />
        {waiting.total > 0 && (
          <span className={styles.count} data-testid="inbox-count" aria-hidden="true">
            {waiting.total > 99 ? "99+" : waiting.total}
          </span>
        )}
      </ActionIcon>
      {isLoaded && (
        <LazyBoundary fallback={null}>
          <InboxPanel opened={isOpen} waiting={waiting} current={sessionId} onClose={close} onClosed={restoreFocus} onSelect={select} />
        </LazyBoundary>
      )}
    </>
  );
}

/** For example "(2) A calculator · Parley": the count is visible from other tabs. */
function tabTitle(waiting: number, title: string): string {
  return `${waiting > 0 ? `(${waiting}) ` : ""}${title ? `${title} · ` : ""}Parley`;
}
