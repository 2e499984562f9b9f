// The start page: the choice of workflow, with example requests.
import { Button, SegmentedControl } from "@mantine/core";
import { lazy, useEffect, useState } from "react";
import { useRequestChoice, useWorkflows, type Workflow, WORKFLOWS } from "../compose/requestChoice";
import { preloadFlowViews } from "../flow/preload";
import { TEMPLATES, WELCOME, wordFor } from "../words";
import { LazyBoundary } from "../ui/LazyBoundary";
import { BookIcon, Logo } from "../ui/icons";
import { useClient, useSession } from "./sessionContext";
import styles from "./Welcome.module.css";

const Library = lazy(() => import("../library/Library"));

interface Example {
  title: string;
  text: string;
}

// The store examples use a customer and orders of the sample data.
const EXAMPLES: Record<string, Example[]> = {
  conversation: [
    { title: "A simple calculator", text: "Help me create a simple calculator" },
    { title: "A to-do list", text: "Write a to-do list for the terminal" },
    { title: "Word statistics", text: "Count the words of a text and show the ten most frequent ones" },
  ],
  agentflow: [
    { title: "Look something up", text: "I am jude.mendes3817@example.com. What is in my order #W3997796, and where is it?" },
    { title: "Cancel an order", text: "I am jude.mendes3817@example.com. Please cancel order #W4260124, I no longer need it." },
    { title: "Change an address", text: "I am jude.mendes3817@example.com. Please send order #W3990615 to 12 Harbor View, Seattle, WA 98101, USA instead." },
  ],
  execution_plan: [
    { title: "Several orders", text: "I am ada.stone8163@example.com. Look up orders #W2617455 and #W4753351, and cancel #W3458309." },
    { title: "One order", text: "I am ada.stone8163@example.com. Cancel order #W6054154, I ordered it by mistake." },
    { title: "A call", text: 'Call calculate with {"expression": "2 * 3.5"}' },
  ],
  flow: [
    { title: "Count", text: "How many orders are pending?" },
    { title: "Compare", text: "Show the number of orders by status" },
    { title: "Correct a query", text: "Fix this SQL: SELEC count(*) FROM orders" },
  ],
};

export function Welcome() {
  const client = useClient();
  const isGreeted = useSession(({ state }) => state.greeting !== null);
  const isSending = useSession(({ pending }) => pending.some((item) => item.command.type === "user_message"));
  const { choice, change, fieldsOf } = useRequestChoice();
  const workflows = useWorkflows();
  const workflow = workflows.includes(choice.workflow) ? choice.workflow : "conversation";
  useEffect(() => {
    if (workflow === "flow") preloadFlowViews();
  }, [workflow]);
  const examples = EXAMPLES[workflow] ?? [];
  return (
    <section className={styles.welcome} aria-label="Start">
      <Logo size={44} />
      <h2>{wordFor(WELCOME, workflow)}</h2>
      <div className={styles.choice}>
        {workflows.length > 1 && (
          <SegmentedControl
            aria-label={WELCOME.how}
            data-testid="workflow"
            value={workflow}
            onChange={(value) => change({ workflow: value as Workflow })}
            data={workflows.map((workflow) => ({ value: workflow, label: WORKFLOWS[workflow] ?? workflow }))}
          />
        )}
      </div>
      <p>{wordFor(WELCOME, `${workflow}_what`)}</p>
      <div className={styles.examples}>
        {examples.map((example) => (
          <button
            key={example.title}
            type="button"
            data-testid="example"
            disabled={isSending || !isGreeted}
            onClick={() => client.send({ type: "user_message", content: example.text, ...fieldsOf({ ...choice, workflow }) })}
          >
            <strong>{example.title}</strong>
            <span>{example.text}</span>
          </button>
        ))}
      </div>
      {workflow === "execution_plan" && <TemplatesButton />}
    </section>
  );
}

/** Opens the library at its templates. */
function TemplatesButton() {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button variant="subtle" leftSection={<BookIcon />} onClick={() => setOpened(true)} data-testid="templates-open">
        {TEMPLATES.browse}
      </Button>
      {opened && (
        <LazyBoundary>
          <Library tab="templates" onClose={() => setOpened(false)} onSelect={() => setOpened(false)} />
        </LazyBoundary>
      )}
    </>
  );
}
