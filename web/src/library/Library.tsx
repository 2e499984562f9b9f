// What was asked before and accepted, to ask again; and the nodes that planners wished for.
import { Button, Checkbox, Loader, Modal, Tabs, TextInput } from "@mantine/core";
import { useDebouncedValue, useMediaQuery } from "@mantine/hooks";
import { lazy, Suspense, useEffect, useState } from "react";
import { pathOf } from "../app/route";
import { suggest } from "../compose/suggestion";
import { words } from "../flow/spec";
import { fill, LIBRARY, PAGE, SIGNS, TEMPLATES, WORKFLOWS } from "../generated/words";
import { library, proposals } from "../net/api";
import type { LibraryEntry, Proposal } from "../protocol";
import { ago } from "../ui/format";
import { useFocusBack } from "../ui/hooks";
import { Redo, Search } from "../ui/icons";
import { Markdown } from "../ui/Markdown";
import { Tone } from "../ui/Tone";
import { type Answered, useAsked } from "../ui/useAsked";
import { Templates } from "../templates/Templates";

const SqlEditor = lazy(() => import("../code/SqlEditor"));

interface Listed<T> {
  items: T[];
  total: number;
}

export type LibraryTab = "questions" | "templates" | "proposals";

interface Props {
  tab?: LibraryTab;
  onClose: () => void;
  onChosen: () => void;
}

export default function Library({ tab = "questions", onClose, onChosen }: Props) {
  const narrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const [begun, setBegun] = useState(false); // then the focus belongs to the new session
  useFocusBack(!begun);
  useEffect(() => {
    if (begun) onChosen();
  }, [begun]);
  return (
    <Modal opened onClose={onClose} returnFocus={false} size="xl" fullScreen={narrow} title={LIBRARY.title} closeButtonProps={{ "aria-label": SIGNS.close_library }}>
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
          <Questions onChosen={onChosen} />
        </Tabs.Panel>
        <Tabs.Panel value="templates">
          <Templates onBegun={() => setBegun(true)} />
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
  const asked = useAsked((signal) => library(wanted, saved, signal), `${wanted} ${saved}`);
  const none = wanted ? LIBRARY.none_found : saved ? LIBRARY.none_saved : LIBRARY.none;
  return (
    <>
      <div className="library-find">
        <TextInput type="search" aria-label={LIBRARY.search} placeholder={PAGE.search} leftSection={<Search size={16} />} value={query} onChange={(event) => setQuery(event.currentTarget.value)} data-testid="library-search" />
        <Checkbox label={LIBRARY.only_saved} checked={saved} onChange={(event) => setSaved(event.currentTarget.checked)} data-testid="library-saved" />
      </div>
      <Items asked={asked} none={none}>
        {(one) => <Entry key={`${one.session_id} ${one.round}`} entry={one} onChosen={onChosen} />}
      </Items>
    </>
  );
}

function Entry({ entry, onChosen }: { entry: LibraryEntry; onChosen: () => void }) {
  const question = entry.question || entry.request;
  const again = () => {
    suggest({ text: question, workflow: entry.workflow });
    onChosen();
  };
  return (
    <li className="library-item" data-testid="library-item">
      <p className="library-question">
        <strong>{question}</strong> {entry.saved && <Tone tone="good">{LIBRARY.saved}</Tone>}
      </p>
      {entry.answer && (
        <div className="library-answer">
          <Markdown text={entry.answer} />
        </div>
      )}
      {entry.steps.length > 0 && (
        <ol className="dimmed" data-testid="library-steps">
          {entry.steps.map((step, number) => (
            <li key={number}>{step.text}</li>
          ))}
        </ol>
      )}
      {entry.sql && (
        <Suspense fallback={<pre>{entry.sql}</pre>}>
          <SqlEditor value={entry.sql} label={fill(LIBRARY.sql_of, { question })} />
        </Suspense>
      )}
      <p className="decision-buttons">
        <Button size="compact-sm" variant="light" leftSection={<Redo size={14} />} onClick={again} data-testid="ask-again">
          {LIBRARY.again}
        </Button>
        <a className="link" href={pathOf(entry.session_id)}>
          {LIBRARY.open}
        </a>
        <span className="dimmed">
          {entry.flows.map(words).join(", ") || WORKFLOWS[entry.workflow as keyof typeof WORKFLOWS]} · <time dateTime={entry.at}>{ago(entry.at, Date.now())}</time>
        </span>
      </p>
    </li>
  );
}

function Proposals() {
  const asked = useAsked(proposals, "");
  return (
    <>
      <p className="hint">{LIBRARY.proposed_what}</p>
      <Items asked={asked} none={LIBRARY.none_proposed}>
        {(one: Proposal) => (
          <li key={`${one.session_id} ${one.version}`} className="library-item" data-testid="proposal-item">
            <p className="library-question">
              <strong>{words(one.name)}</strong> <Tone tone="plain">{words(one.flow)}</Tone>
            </p>
            <p>{one.description}</p>
            {one.why && <p className="dimmed">{one.why}</p>}
            <p className="dimmed">
              {LIBRARY.for}{" "}
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

function Items<T>({ asked, none, children }: { asked: Answered<Listed<T>>; none: string; children: (one: T) => React.ReactNode }) {
  const { answer: page, problem } = asked;
  if (problem) return <p className="problem">{problem}</p>;
  if (!page) return <Loader size="sm" aria-label={SIGNS.loading} />;
  if (page.items.length === 0) return <p className="hint">{none}</p>;
  return (
    <>
      <ul className="library-list">{page.items.map(children)}</ul>
      {page.total > page.items.length && <p className="dimmed">{fill(LIBRARY.more_search, { count: page.total - page.items.length })}</p>}
    </>
  );
}
