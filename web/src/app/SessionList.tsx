// All sessions of this person: search, open, begin another.
import { Button, ScrollArea, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { LIBRARY, PAGE, SIGNS, TROUBLE } from "../generated/words";
import { sessions, type SessionSummary } from "../net/api";
import { ago, stateWords } from "../ui/format";
import { Book, Logo, Plus, Search } from "../ui/icons";
import { toneOf } from "../ui/Tone";
import { Account } from "./Account";
import { go, pathOf } from "./route";
import { useSession } from "./session";

const Library = lazy(() => import("../library/Library"));
const SHOWN = 100;
const LOOK = 15_000; // milliseconds: what other tabs and devices did
const AGAIN = 3_000; // after a look that failed

interface Props {
  onNew: () => void;
  onChosen: () => void;
  /** Counts how often the search was asked for; 0: the focus stays where it is. */
  searching: number;
}

export function SessionList({ onNew, onChosen, searching }: Props) {
  const { state } = useSession();
  const [query, setQuery] = useState("");
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (searching > 0) search.current?.select();
  }, [searching]);
  const { list, failed } = useSessions(query, `${state.snapshot?.session_id} ${state.snapshot?.state} ${state.snapshot?.title}`);
  return (
    <div className="sessions" data-testid="session-list">
      <div className="sessions-brand">
        <Logo />
        <span>Parley</span>
      </div>
      <Button leftSection={<Plus />} variant="light" fullWidth onClick={onNew} data-testid="new-session">
        {PAGE.begin}
      </Button>
      {state.greeting?.workflows.some((one) => one === "flow" || one === "execution_plan") && <LibraryButton onChosen={onChosen} />}
      <TextInput
        ref={search}
        type="search"
        data-autofocus={searching > 0 || undefined}
        aria-label={SIGNS.sessions_search}
        placeholder={PAGE.search_sessions}
        data-testid="session-search"
        leftSection={<Search size={16} />}
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
      />
      <ScrollArea className="sessions-scroll" type="auto" scrollbarSize={8} offsetScrollbars="present">
        {failed && <Text size="sm" c="dimmed">{TROUBLE.list}</Text>}
        {list?.length === 0 && (
          <Text size="sm" c="dimmed" p="xs">
            {query ? PAGE.search_none : PAGE.sessions_none}
          </Text>
        )}
        <ul>
          {list?.map((session) => (
            <li key={session.session_id}>
              <Item session={session} current={session.session_id === state.sessionId} onChosen={onChosen} />
            </li>
          ))}
        </ul>
      </ScrollArea>
      <Account />
    </div>
  );
}

/** What was found before: also from the drawer of a phone, which goes when something is chosen. */
function LibraryButton({ onChosen }: { onChosen: () => void }) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button leftSection={<Book />} variant="subtle" color="gray" fullWidth justify="flex-start" onClick={() => setOpened(true)} data-testid="library-open">
        {LIBRARY.title}
      </Button>
      {opened && (
        <Suspense>
          <Library
            onClose={() => setOpened(false)}
            onChosen={() => {
              setOpened(false);
              onChosen();
            }}
          />
        </Suspense>
      )}
    </>
  );
}

function Item({ session, current, onChosen }: { session: SessionSummary; current: boolean; onChosen: () => void }) {
  return (
    <a
      href={pathOf(session.session_id)}
      className="sessions-item"
      data-testid="session-item"
      aria-current={current ? "page" : undefined}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        go(session.session_id);
        onChosen();
      }}
    >
      <span className="sessions-title">{session.title || PAGE.untitled}</span>
      <span className="sessions-meta">
        <span className="sessions-state" data-tone={session.paused ? "wait" : toneOf(session.phase, session.rest_reason, session.unfinished)}>
          {stateWords({ ...session, reason: session.rest_reason })}
        </span>
        <time dateTime={session.updated_at}>{ago(session.updated_at, Date.now())}</time>
      </span>
    </a>
  );
}

/** The list for the words typed, asked again when the session on the screen has `changed`. */
function useSessions(query: string, changed: string) {
  const [list, setList] = useState<SessionSummary[] | null>(null);
  const [failed, setFailed] = useState(false);
  const [wanted] = useDebouncedValue(query, 200);
  const [settled] = useDebouncedValue(changed, 500);
  useEffect(() => {
    const aborter = new AbortController();
    let again: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      clearTimeout(again);
      try {
        setList((await sessions(wanted, SHOWN, aborter.signal)).sessions);
        setFailed(false);
      } catch {
        if (aborter.signal.aborted) return;
        setFailed(true);
        again = setTimeout(() => void load(), AGAIN);
      }
    };
    void load();
    const timer = setInterval(() => document.visibilityState === "visible" && void load(), LOOK);
    return () => {
      aborter.abort();
      clearTimeout(again);
      clearInterval(timer);
    };
  }, [wanted, settled]);
  return { list, failed };
}
