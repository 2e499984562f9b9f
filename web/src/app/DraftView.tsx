// What a service is writing at this moment.
import { Loader } from "@mantine/core";
import type { Draft, DraftKind } from "../state/state";
import { Markdown } from "../ui/Markdown";

const TITLES: Record<DraftKind, string> = {
  plan: "Drafting a plan",
  code: "Writing the code",
  tests: "Writing tests",
  answer: "Writing the answer",
  verdict: "Judging the result",
  node: "Working on this step",
};

const PLANNING: Record<string, string> = { agentflow: "Planning the next turn", flow: "Planning the path" };

export function DraftView({ draft, workflow, answers }: { draft: Draft; workflow: string; answers: boolean }) {
  const title = answers ? "Answering what you said" : (draft.kind === "plan" && PLANNING[workflow]) || TITLES[draft.kind];
  const text = draft.torn ? "…" : draft.text;
  const asCode = draft.kind === "code" || draft.kind === "tests" || /^\s*[{[]/.test(text);
  return (
    <section className="draft" data-testid="draft" aria-label={title} aria-busy="true">
      <h2 className="draft-title">
        <Loader size={14} type="dots" aria-hidden="true" /> {title}
      </h2>
      {asCode ? <pre className="draft-code">{unfenced(text)}</pre> : <Markdown text={text} />}
    </section>
  );
}

function unfenced(text: string): string {
  return text.replace(/^\s*```\w*\n/, "").replace(/\n```\s*$/, "");
}
