import { Button, Drawer } from "@mantine/core";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { navigate, sessionPath } from "../app/route";
import { ACTIONS, fill, LIBRARY, PAGE, SIGNS } from "../words";
import { resumePlan, type SessionSummary } from "../net/api";
import { Badge } from "../ui/Badge";
import { formatAge } from "../ui/format";
import { RetryIcon } from "../ui/icons";
import { errorMessage } from "../ui/useFetch";
import { attentionOf, canResume } from "./attention";
import type { InboxState } from "./useInbox";
import styles from "./InboxPanel.module.css";
import sessionItemStyles from "../app/sessionItem.module.css";
import typography from "../ui/typography.module.css";

interface Props {
  opened: boolean;
  waiting: InboxState;
  current: string | null;
  onClose: () => void;
  onClosed: () => void;
  onSelect: () => void;
}

export default function InboxPanel({ opened, waiting, current, onClose, onClosed, onSelect }: Props) {
  const list = useRef<HTMLUListElement>(null);
  const moveFocus = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const links = [...(list.current?.querySelectorAll("a") ?? [])];
    const next = links[links.findIndex((link) => link === document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
    event.preventDefault();
    next?.focus();
  };
  return (
    <Drawer opened={opened} onClose={onClose} position="right" returnFocus={false} size={380} padding="sm" title={PAGE.waiting} closeButtonProps={{ "aria-label": SIGNS.close_inbox }}>
      <AfterUnmount callback={onClosed} />
      <div data-testid="inbox-panel" onKeyDown={moveFocus}>
        {waiting.sessions?.length === 0 && <p className={typography.dimmed}>{PAGE.nothing_waits}</p>}
        <ul role="list" ref={list}>
          {waiting.sessions?.map((session, index) => (
            <li key={session.session_id}>
              <InboxItem session={session} current={session.session_id === current} first={index === 0} onSelect={onSelect} />
              {canResume(session) && <ResumeButton session={session} onSelect={onSelect} />}
            </li>
          ))}
        </ul>
        {waiting.sessions && waiting.total > waiting.sessions.length && <p className={typography.dimmed}>{fill(LIBRARY.more, { count: waiting.total - waiting.sessions.length })}</p>}
      </div>
    </Drawer>
  );
}

/** Calls `callback` once the panel is unmounted: focus set earlier could be taken back by the drawer. */
function AfterUnmount({ callback }: { callback: () => void }) {
  useEffect(() => callback, []);
  return null;
}

function InboxItem({ session, current, first, onSelect }: { session: SessionSummary; current: boolean; first: boolean; onSelect: () => void }) {
  const attention = attentionOf(session);
  return (
    <a
      href={sessionPath(session.session_id)}
      className={sessionItemStyles.item}
      data-testid="inbox-item"
      data-autofocus={first || undefined}
      aria-current={current ? "page" : undefined}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        onSelect();
        navigate(session.session_id);
      }}
    >
      <span className={styles.title}>{session.title || PAGE.untitled}</span>
      <span className={sessionItemStyles.meta}>
        <Badge tone={attention.tone}>{attention.words}</Badge>
        <time dateTime={session.updated_at}>{formatAge(session.updated_at, Date.now())}</time>
      </span>
    </a>
  );
}

/** Resumes the session's plan and opens the session. */
function ResumeButton({ session, onSelect }: { session: SessionSummary; onSelect: () => void }) {
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const resume = async () => {
    setIsBusy(true);
    try {
      await resumePlan(session.session_id);
      onSelect();
      navigate(session.session_id);
    } catch (error) {
      setProblem(errorMessage(error));
      setIsBusy(false);
    }
  };
  return (
    <div className={styles.resume}>
      <Button size="compact-sm" variant="light" leftSection={<RetryIcon />} loading={isBusy} onClick={() => void resume()} data-testid="inbox-retry">
        {session.state === "approved" ? ACTIONS.start : ACTIONS.retry}
      </Button>
      {problem && <p className={typography.hint} role="alert">{problem}</p>}
    </div>
  );
}
