// The user's sessions: search, open, start a new one.
import { Button, ScrollArea, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { lazy, useEffect, useRef, useState } from "react";
import { LIBRARY, PAGE, SIGNS, TROUBLE } from "../words";
import { fetchSessions, type SessionSummary } from "../net/api";
import { toneOf } from "../ui/Badge";
import { LazyBoundary } from "../ui/LazyBoundary";
import { formatAge, stateLabel } from "../ui/format";
import { BookIcon, Logo, PlusIcon, SearchIcon } from "../ui/icons";
import { LogOutButton } from "./LogOutButton";
import { navigate, sessionPath } from "./route";
import { useSession } from "./sessionContext";
import styles from "./SessionList.module.css";
import sessionItemStyles from "./sessionItem.module.css";

const Library = lazy(() => import("../library/Library"));
const PAGE_SIZE = 100;
const POLL_INTERVAL_MS = 15_000; // picks up changes from other tabs and devices
const RETRY_MS = 3_000; // after a failed load

interface Props {
  onNew: () => void;
  onSelect: () => void;
  /** How often the user asked for the search; 0 leaves the focus where it is. */
  searchRequests: number;
}

export function SessionList({ onNew, onSelect, searchRequests }: Props) {
  const sessionId = useSession(({ state }) => state.sessionId);
  const hasLibrary = useSession(({ state }) => !!state.greeting?.workflows.some((workflow) => workflow === "flow" || workflow === "execution_plan"));
  const revision = useSession(({ state: { snapshot } }) => `${snapshot?.session_id} ${snapshot?.state} ${snapshot?.title}`);
  const [query, setQuery] = useState("");
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (searchRequests > 0) search.current?.select();
  }, [searchRequests]);
  const { sessions, failed } = useSessions(query, revision);
  return (
    <div className={styles.sessions} data-testid="session-list">
      <div className={styles.brand}>
        <Logo />
        <span>Parley</span>
      </div>
      <Button leftSection={<PlusIcon />} variant="light" fullWidth onClick={onNew} data-testid="new-session">
        {PAGE.begin}
      </Button>
      {hasLibrary && <LibraryButton onSelect={onSelect} />}
      <TextInput
        ref={search}
        type="search"
        data-autofocus={searchRequests > 0 || undefined}
        aria-label={SIGNS.sessions_search}
        placeholder={PAGE.search_sessions}
        data-testid="session-search"
        leftSection={<SearchIcon size={16} />}
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
      />
      <ScrollArea className={styles.scroll} type="auto" scrollbarSize={8} offsetScrollbars="present">
        {failed && <Text size="sm" c="dimmed">{TROUBLE.list}</Text>}
        {sessions?.length === 0 && (
          <Text size="sm" c="dimmed" p="xs">
            {query ? PAGE.search_none : PAGE.sessions_none}
          </Text>
        )}
        <ul role="list">
          {sessions?.map((session) => (
            <li key={session.session_id}>
              <SessionItem session={session} current={session.session_id === sessionId} onSelect={onSelect} />
            </li>
          ))}
        </ul>
      </ScrollArea>
      <LogOutButton />
    </div>
  );
}

/** Opens the library; also used in a phone's drawer, which closes when an item is selected. */
function LibraryButton({ onSelect }: { onSelect: () => void }) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button leftSection={<BookIcon />} variant="subtle" color="gray" fullWidth justify="flex-start" onClick={() => setOpened(true)} data-testid="library-open">
        {LIBRARY.title}
      </Button>
      {opened && (
        <LazyBoundary>
          <Library
            onClose={() => setOpened(false)}
            onSelect={() => {
              setOpened(false);
              onSelect();
            }}
          />
        </LazyBoundary>
      )}
    </>
  );
}

function SessionItem({ session, current, onSelect }: { session: SessionSummary; current: boolean; onSelect: () => void }) {
  return (
    <a
      href={sessionPath(session.session_id)}
      className={sessionItemStyles.item}
      data-testid="session-item"
      aria-current={current ? "page" : undefined}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        navigate(session.session_id);
        onSelect();
      }}
    >
      <span className={styles.title}>{session.title || PAGE.untitled}</span>
      <span className={sessionItemStyles.meta}>
        <span className={styles.state} data-testid="session-state" data-tone={session.paused ? "wait" : toneOf(session.state, session.phase, session.rest_reason, session.unfinished)}>
          {stateLabel({ ...session, reason: session.rest_reason })}
        </span>
        <time dateTime={session.updated_at}>{formatAge(session.updated_at, Date.now())}</time>
      </span>
    </a>
  );
}

/** Loads the sessions that match `query`; loads again when `revision` changes, and regularly. */
function useSessions(query: string, revision: string) {
  const [sessions, setSessions] = useState<SessionSummary[] | null>(null);
  const [failed, setFailed] = useState(false);
  const [debouncedQuery] = useDebouncedValue(query, 200);
  const [debouncedRevision] = useDebouncedValue(revision, 500);
  useEffect(() => {
    const aborter = new AbortController();
    let retryTimer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      clearTimeout(retryTimer);
      try {
        setSessions((await fetchSessions(debouncedQuery, PAGE_SIZE, aborter.signal)).sessions);
        setFailed(false);
      } catch {
        if (aborter.signal.aborted) return;
        setFailed(true);
        retryTimer = setTimeout(() => void load(), RETRY_MS);
      }
    };
    void load();
    const timer = setInterval(() => document.visibilityState === "visible" && void load(), POLL_INTERVAL_MS);
    return () => {
      aborter.abort();
      clearTimeout(retryTimer);
      clearInterval(timer);
    };
  }, [debouncedQuery, debouncedRevision]);
  return { sessions, failed };
}
