// What was asked before and accepted, to ask again; and the nodes that planners wished for.
import { Button, Checkbox, Loader, Modal, Tabs, TextInput } from "@mantine/core";
import { useDebouncedValue, useMediaQuery } from "@mantine/hooks";
import { lazy, Suspense, useEffect, useState } from "react";
import { pathOf } from "../app/route";
import { suggest } from "../compose/suggestion";
import { words } from "../flow/spec";
import { library, proposals } from "../net/api";
import type { LibraryEntry, Proposal } from "../protocol";
import { ago } from "../ui/format";
import { Redo, Search } from "../ui/icons";
import { Markdown } from "../ui/Markdown";
import { Tone } from "../ui/Tone";

const SqlEditor = lazy(() => import("../code/SqlEditor"));

interface Listed<T> {
  items: T[];
  total: number;
}

export default function Library({ onClose, onChosen }: { onClose: () => void; onChosen: () => void }) {
  const narrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  return (
    <Modal opened onClose={onClose} size="xl" fullScreen={narrow} title="Library" closeButtonProps={{ "aria-label": "Close the library" }}>
      <Tabs defaultValue="questions" keepMounted={false} data-testid="library">
        <Tabs.List mb="sm">
          <Tabs.Tab value="questions">Questions</Tabs.Tab>
          <Tabs.Tab value="proposals" data-testid="proposals-tab">
            Proposed nodes
          </Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="questions">
          <Questions onChosen={onChosen} />
        </Tabs.Panel>
        <Tabs.Panel value="proposals">
          <Proposals />
        </Tabs.Panel>
      </Tabs>
    </Modal>
  );
}

function Questions({ onChosen }: { onChosen: () => void }) {
  const [query, setQuery] = useState("");
  const [saved, setSaved] = useState(true);
  const [wanted] = useDebouncedValue(query.trim(), 200);
  const { page, problem } = useListed((signal) => library(wanted, saved, signal), `${wanted} ${saved}`);
  const none = wanted ? "Nothing here has these words." : saved ? "Nothing is saved yet: an answer has a button for it." : "No answer was accepted yet.";
  return (
    <>
      <div className="library-find">
        <TextInput type="search" aria-label="Search the library" placeholder="Search" leftSection={<Search size={16} />} value={query} onChange={(event) => setQuery(event.currentTarget.value)} data-testid="library-search" />
        <Checkbox label="only saved ones" checked={saved} onChange={(event) => setSaved(event.currentTarget.checked)} data-testid="library-saved" />
      </div>
      <Items page={page} problem={problem} none={none}>
        {(one) => <Entry key={`${one.session_id} ${one.round}`} entry={one} onChosen={onChosen} />}
      </Items>
    </>
  );
}

function Entry({ entry, onChosen }: { entry: LibraryEntry; onChosen: () => void }) {
  const question = entry.question || entry.request;
  const again = () => {
    onChosen();
    // the dialog gives the focus back when it closes: the composer takes it after that
    setTimeout(() => suggest({ text: question, workflow: "flow" }), 60);
  };
  return (
    <li className="library-item" data-testid="library-item">
      <p className="library-question">
        <strong>{question}</strong> {entry.saved && <Tone tone="good">saved</Tone>}
      </p>
      {entry.answer && (
        <div className="library-answer">
          <Markdown text={entry.answer} />
        </div>
      )}
      {entry.sql && (
        <Suspense fallback={<pre>{entry.sql}</pre>}>
          <SqlEditor value={entry.sql} label={`The SQL of: ${question}`} />
        </Suspense>
      )}
      <p className="decision-buttons">
        <Button size="compact-sm" variant="light" leftSection={<Redo size={14} />} onClick={again} data-testid="ask-again">
          Ask again
        </Button>
        <a className="link" href={pathOf(entry.session_id)}>
          Open the conversation
        </a>
        <span className="dimmed">
          {entry.flows.map(words).join(", ")} · <time dateTime={entry.at}>{ago(entry.at, Date.now())}</time>
        </span>
      </p>
    </li>
  );
}

function Proposals() {
  const { page, problem } = useListed(proposals, "");
  return (
    <>
      <p className="hint">Nodes that the model missed while it planned. They are kept for you to read, and never run.</p>
      <Items page={page} problem={problem} none="No node was proposed yet.">
        {(one: Proposal) => (
          <li key={`${one.session_id} ${one.version}`} className="library-item" data-testid="proposal-item">
            <p className="library-question">
              <strong>{words(one.name)}</strong> <Tone tone="plain">{words(one.flow)}</Tone>
            </p>
            <p>{one.description}</p>
            {one.why && <p className="dimmed">{one.why}</p>}
            <p className="dimmed">
              For{" "}
              <a className="link" href={pathOf(one.session_id)}>
                {one.request}
              </a>{" "}
              · <time dateTime={one.at}>{ago(one.at, Date.now())}</time>
            </p>
          </li>
        )}
      </Items>
    </>
  );
}

function Items<T>({ page, problem, none, children }: { page: Listed<T> | null; problem: string; none: string; children: (one: T) => React.ReactNode }) {
  if (problem) return <p className="problem">{problem}</p>;
  if (!page) return <Loader size="sm" aria-label="Loading" />;
  if (page.items.length === 0) return <p className="hint">{none}</p>;
  return (
    <>
      <ul className="library-list">{page.items.map(children)}</ul>
      {page.total > page.items.length && <p className="dimmed">and {page.total - page.items.length} more: search to find them</p>}
    </>
  );
}

/** Asked again when `key` is another one. */
function useListed<T>(ask: (signal: AbortSignal) => Promise<Listed<T>>, key: string): { page: Listed<T> | null; problem: string } {
  const [found, setFound] = useState<{ page: Listed<T> | null; problem: string }>({ page: null, problem: "" });
  useEffect(() => {
    const aborter = new AbortController();
    ask(aborter.signal)
      .then((page) => setFound({ page, problem: "" }))
      .catch((error: unknown) => !aborter.signal.aborted && setFound({ page: null, problem: error instanceof Error ? error.message : String(error) }));
    return () => aborter.abort();
  }, [key]);
  return found;
}
