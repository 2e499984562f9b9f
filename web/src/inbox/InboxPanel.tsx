import { Button, Drawer } from "@mantine/core";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { go, pathOf } from "../app/route";
import { ACTIONS, fill, LIBRARY, PAGE, SIGNS } from "../generated/words";
import { goOn, type SessionSummary } from "../net/api";
import { ago } from "../ui/format";
import { Redo } from "../ui/icons";
import { Tone } from "../ui/Tone";
import { askOf, goesOn } from "./ask";
import type { Waiting } from "./Inbox";

interface Props {
  opened: boolean;
  waiting: Waiting;
  current: string | null;
  onClose: () => void;
  onClosed: () => void;
  onChosen: () => void;
}

export default function InboxPanel({ opened, waiting, current, onClose, onClosed, onChosen }: Props) {
  const list = useRef<HTMLUListElement>(null);
  const step = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const all = [...(list.current?.querySelectorAll("a") ?? [])];
    const next = all[all.findIndex((one) => one === document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
    event.preventDefault();
    next?.focus();
  };
  return (
    <Drawer opened={opened} onClose={onClose} position="right" returnFocus={false} size={380} padding="sm" title={PAGE.waiting} closeButtonProps={{ "aria-label": SIGNS.close_inbox }}>
      <Removed tell={onClosed} />
      <div className="inbox" data-testid="inbox-panel" onKeyDown={step}>
        {waiting.list?.length === 0 && <p className="dimmed">{PAGE.nothing_waits}</p>}
        <ul ref={list}>
          {waiting.list?.map((session, index) => (
            <li key={session.session_id}>
              <Item session={session} current={session.session_id === current} first={index === 0} onChosen={onChosen} />
              {goesOn(session) && <GoOn session={session} onChosen={onChosen} />}
            </li>
          ))}
        </ul>
        {waiting.list && waiting.total > waiting.list.length && <p className="dimmed">{fill(LIBRARY.more, { count: waiting.total - waiting.list.length })}</p>}
      </div>
    </Drawer>
  );
}

/** Calls `tell` once the panel has left the document: a focus set before could still be taken back by it. */
function Removed({ tell }: { tell: () => void }) {
  useEffect(() => tell, []);
  return null;
}

function Item({ session, current, first, onChosen }: { session: SessionSummary; current: boolean; first: boolean; onChosen: () => void }) {
  const ask = askOf(session);
  return (
    <a
      href={pathOf(session.session_id)}
      className="sessions-item"
      data-testid="inbox-item"
      data-autofocus={first || undefined}
      aria-current={current ? "page" : undefined}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        onChosen();
        go(session.session_id);
      }}
    >
      <span className="inbox-title">{session.title || PAGE.untitled}</span>
      <span className="sessions-meta">
        <Tone tone={ask.tone}>{ask.words}</Tone>
        <time dateTime={session.updated_at}>{ago(session.updated_at, Date.now())}</time>
      </span>
    </a>
  );
}

/** Lets the session's plan go on, and shows it doing so. */
function GoOn({ session, onChosen }: { session: SessionSummary; onChosen: () => void }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const press = async () => {
    setBusy(true);
    try {
      await goOn(session.session_id);
      onChosen();
      go(session.session_id);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <div className="inbox-more">
      <Button size="compact-sm" variant="light" leftSection={<Redo />} loading={busy} onClick={() => void press()} data-testid="inbox-retry">
        {session.state === "approved" ? ACTIONS.start : ACTIONS.retry}
      </Button>
      {problem && <p className="hint" role="alert">{problem}</p>}
    </div>
  );
}
