// Accepted questions to ask again, templates, and the nodes that planners proposed.
import { Button, Checkbox, Loader, Modal, Tabs, TextInput } from "@mantine/core";
import { useDebouncedValue, useMediaQuery } from "@mantine/hooks";
import { lazy, useEffect, useState } from "react";
import { sessionPath } from "../app/route";
import { suggest } from "../compose/suggestion";
import { readableName } from "../flow/spec";
import { fill, LIBRARY, PAGE, SIGNS, TEMPLATES, WORKFLOWS } from "../words";
import { fetchLibrary, fetchProposals } from "../net/api";
import type { LibraryEntry, Proposal } from "../protocol";
import { Templates } from "../templates/Templates";
import { Badge } from "../ui/Badge";
import { LazyBoundary } from "../ui/LazyBoundary";
import { formatAge } from "../ui/format";
import { useRestoreFocus } from "../ui/hooks";
import { RetryIcon, SearchIcon } from "../ui/icons";
import { Markdown } from "../ui/Markdown";
import { type FetchResult, useFetch } from "../ui/useFetch";
import styles from "./Library.module.css";
import buttons from "../ui/buttons.module.css";
import typography from "../ui/typography.module.css";

const SqlEditor = lazy(() => import("../code/SqlEditor"));

interface ItemPage<T> {
  items: T[];
  total: number;
}

type LibraryTab = "questions" | "templates" | "proposals";

interface Props {
  tab?: LibraryTab;
  onClose: () => void;
  onSelect: () => void;
}

export default function Library({ tab = "questions", onClose, onSelect }: Props) {
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const [hasStarted, setHasStarted] = useState(false); // whether a session was started here: it then gets the focus
  useRestoreFocus(!hasStarted);
  useEffect(() => {
    if (hasStarted) onSelect();
  }, [hasStarted]);
  return (
    <Modal opened onClose={onClose} returnFocus={false} size="xl" fullScreen={isNarrow} title={LIBRARY.title} closeButtonProps={{ "aria-label": SIGNS.close_library }}>
      <Tabs defaultValue={tab} keepMounted={false} data-testid="library">
        <Tabs.List mb="sm">
          <Tabs.Tab value="questions">{LIBRARY.questions}</Tabs.Tab>
          <Tabs.Tab value="templates" data-testid="templates-tab">
            {TEMPLATES.title}
          </Tabs.Tab>
          <Tabs.Tab value="proposals" data-testid="proposals-tab">
            {LIBRARY.proposed}
          </Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="questions">
          <Questions onSelect={onSelect} />
        </Tabs.Panel>
        <Tabs.Panel value="templates">
          <Templates onStarted={() => setHasStarted(true)} />
        </Tabs.Panel>
        <Tabs.Panel value="proposals">
          <Proposals />
        </Tabs.Panel>
      </Tabs>
    </Modal>
  );
}

function Questions({ onSelect }: { onSelect: () => void }) {
  const [query, setQuery] = useState("");
  const [onlySaved, setOnlySaved] = useState(true);
  const [debouncedQuery] = useDebouncedValue(query.trim(), 200);
  const result = useFetch((signal) => fetchLibrary(debouncedQuery, onlySaved, signal), `${debouncedQuery} ${onlySaved}`);
  const emptyText = debouncedQuery ? LIBRARY.none_found : onlySaved ? LIBRARY.none_saved : LIBRARY.none;
  return (
    <>
      <div className={styles.filters}>
        <TextInput type="search" aria-label={LIBRARY.search} placeholder={PAGE.search} leftSection={<SearchIcon size={16} />} value={query} onChange={(event) => setQuery(event.currentTarget.value)} data-testid="library-search" />
        <Checkbox label={LIBRARY.only_saved} checked={onlySaved} onChange={(event) => setOnlySaved(event.currentTarget.checked)} data-testid="library-saved" />
      </div>
      <ItemList result={result} emptyText={emptyText}>
        {(entry) => <LibraryItem key={`${entry.session_id} ${entry.round}`} entry={entry} onSelect={onSelect} />}
      </ItemList>
    </>
  );
}

function LibraryItem({ entry, onSelect }: { entry: LibraryEntry; onSelect: () => void }) {
  const question = entry.question || entry.request;
  const askAgain = () => {
    suggest({ text: question, workflow: entry.workflow });
    onSelect();
  };
  return (
    <li className={styles.item} data-testid="library-item">
      <p>
        <strong>{question}</strong> {entry.saved && <Badge tone="good">{LIBRARY.saved}</Badge>}
      </p>
      {entry.answer && (
        <div className={styles.answer}>
          <Markdown text={entry.answer} />
        </div>
      )}
      {entry.steps.length > 0 && (
        <ol className={typography.dimmed} data-testid="library-steps">
          {entry.steps.map((step, number) => (
            <li key={number}>{step.text}</li>
          ))}
        </ol>
      )}
      {entry.sql && (
        <LazyBoundary fallback={<pre>{entry.sql}</pre>}>
          <SqlEditor value={entry.sql} label={fill(LIBRARY.sql_of, { question })} />
        </LazyBoundary>
      )}
      <p className={buttons.row}>
        <Button size="compact-sm" variant="light" leftSection={<RetryIcon size={14} />} onClick={askAgain} data-testid="ask-again">
          {LIBRARY.again}
        </Button>
        <a className={typography.link} href={sessionPath(entry.session_id)}>
          {LIBRARY.open}
        </a>
        <span className={typography.dimmed}>
          {entry.flows.map(readableName).join(", ") || WORKFLOWS[entry.workflow as keyof typeof WORKFLOWS]} · <time dateTime={entry.at}>{formatAge(entry.at, Date.now())}</time>
        </span>
      </p>
    </li>
  );
}

function Proposals() {
  const result = useFetch(fetchProposals, "");
  return (
    <>
      <p className={typography.hint}>{LIBRARY.proposed_what}</p>
      <ItemList result={result} emptyText={LIBRARY.none_proposed}>
        {(proposal: Proposal) => (
          <li key={`${proposal.session_id} ${proposal.version}`} className={styles.item} data-testid="proposal-item">
            <p>
              <strong>{readableName(proposal.name)}</strong> <Badge tone="plain">{readableName(proposal.flow)}</Badge>
            </p>
            <p>{proposal.description}</p>
            {proposal.why && <p className={typography.dimmed}>{proposal.why}</p>}
            <p className={typography.dimmed}>
              {LIBRARY.for}{" "}
              <a className={typography.link} href={sessionPath(proposal.session_id)}>
                {proposal.request}
              </a>{" "}
              · <time dateTime={proposal.at}>{formatAge(proposal.at, Date.now())}</time>
            </p>
          </li>
        )}
      </ItemList>
    </>
  );
}

function ItemList<T>({ result, emptyText, children }: { result: FetchResult<ItemPage<T>>; emptyText: string; children: (item: T) => React.ReactNode }) {
  const { data: page, problem } = result;
  if (problem) return <p className={typography.problem}>{problem}</p>;
  if (!page) return <Loader size="sm" aria-label={SIGNS.loading} />;
  if (page.items.length === 0) return <p className={typography.hint}>{emptyText}</p>;
  return (
    <>
      <ul role="list">{page.items.map(children)}</ul>
      {page.total > page.items.length && <p className={typography.dimmed}>{fill(LIBRARY.more_search, { count: page.total - page.items.length })}</p>}
    </>
  );
}
