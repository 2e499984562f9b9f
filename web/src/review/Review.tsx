// What needs the user: a question, a decision, or a finished result. It stays mounted and only hides while a service
// works, so that unsaved edits survive.
import { Alert, Button, Loader, SegmentedControl } from "@mantine/core";
import { lazy, type ReactNode, useState } from "react";
import { useSession, useSnapshot } from "../app/sessionContext";
import { fill, JOURNAL, REVIEW, SIGNS } from "../words";
import { isWorking, type Snapshot } from "../state/state";
import { LazyBoundary } from "../ui/LazyBoundary";
import { FailurePanel } from "./FailurePanel";
import { NextPanel } from "./NextPanel";
import { QuestionPanel } from "./QuestionPanel";
import styles from "./Review.module.css";

const ActionsPanel = lazy(() => import("./ApprovalPanel"));
const TakeOver = lazy(() => import("../takeover/TakeOver"));
const PlanPanel = lazy(() => import("./PlanPanel"));
const CodePanel = lazy(() => import("./CodePanel"));
const OfferPanel = lazy(() => import("./OfferPanel"));
const PathReview = lazy(() => import("../flow/PathReview"));

type Subject = "plan" | "code";

export function Review() {
  const snapshot = useSnapshot();
  if (!snapshot?.version) return null;
  const isBusy = isWorking(snapshot);
  const isExecutionPlan = snapshot.plan?.kind === "execution";
  const isDeciding = snapshot.review !== null || snapshot.feedback_request !== null;
  return (
    <div className={styles.review} data-busy={isBusy || undefined}>
      {snapshot.unread.length > 0 && isBusy && (
        <Alert variant="light" title={REVIEW.unread}>
          {snapshot.unread.join(" · ")}
        </Alert>
      )}
      {snapshot.offer && (
        <LazyBoundary>
          <OfferPanel key={snapshot.offer.version} offer={snapshot.offer} snapshot={snapshot} />
        </LazyBoundary>
      )}
      <FailurePanel />
      {snapshot.approval_request && (
        <LazyBoundary>
          <ActionsPanel />
        </LazyBoundary>
      )}
      {snapshot.phase === "escalated" && (
        <LazyBoundary>
          <TakeOver />
        </LazyBoundary>
      )}
      {!isBusy && <QuestionPanel />}
      {!isBusy && <NextPanel />}
      {snapshot.plan?.kind === "path" ? (
        isDeciding && (
          <LazyBoundary fallback={<Loader size="sm" aria-label={SIGNS.loading} />}>
            <PathReview plan={snapshot.plan} />
          </LazyBoundary>
        )
      ) : (
        <Collapsible isCollapsible={!isDeciding && !(isExecutionPlan && snapshot.can.includes("retry"))} hidden={isBusy && !isDeciding && !(isExecutionPlan && snapshot.can.includes("edit"))} hasCode={snapshot.code !== null}>
          <PlanAndCode snapshot={snapshot} />
        </Collapsible>
      )}
    </div>
  );
}

/** Expanded while the user must decide; otherwise collapsed, because the latest events matter more. */
function Collapsible({ isCollapsible, hidden, hasCode, children }: { isCollapsible: boolean; hidden: boolean; hasCode: boolean; children: ReactNode }) {
  const hasPlan = useSession(({ state }) => !!state.snapshot?.plan);
  const [isOpen, setIsOpen] = useState(false);
  if (!hasPlan) return null;
  return (
    <div hidden={hidden}>
      {isCollapsible && (
        <Button size="compact-sm" variant="subtle" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)} data-testid="show-work" mb={8}>
          {hasCode ? (isOpen ? REVIEW.hide_plan_and_code : REVIEW.show_plan_and_code) : isOpen ? REVIEW.hide_plan : REVIEW.show_plan}
        </Button>
      )}
      <div hidden={isCollapsible && !isOpen}>{children}</div>
    </div>
  );
}

/** Plan and code as tabs, the current one first. */
function PlanAndCode({ snapshot }: { snapshot: Snapshot }) {
  const { plan, code } = snapshot;
  const current: Subject = code && code.status !== "superseded" && snapshot.review?.target !== "plan" ? "code" : "plan";
  const [selection, setSelection] = useState<{ subject: Subject; situation: string } | null>(null);
  const situation = `${current} ${plan?.version} ${code?.version} ${snapshot.phase}`;
  const visible = selection?.situation === situation ? selection.subject : current;
  return (
    <>
      {plan && code && (
        <SegmentedControl
          className={styles.tabs}
          aria-label={REVIEW.plan_or_code}
          size="xs"
          value={visible}
          onChange={(value) => setSelection({ subject: value as Subject, situation })}
          data={[
            { value: "plan", label: fill(JOURNAL.plan, { number: plan.number }) },
            { value: "code", label: fill(JOURNAL.code, { number: code.number }) },
          ]}
        />
      )}
      <LazyBoundary fallback={<Loader size="sm" aria-label={SIGNS.loading} />}>
        {plan && (
          <div hidden={visible !== "plan"}>
            <PlanPanel plan={plan} />
          </div>
        )}
        {code && (
          <div hidden={visible !== "code"}>
            <CodePanel key={code.status === "superseded" ? "old" : "new"} code={code} />
          </div>
        )}
      </LazyBoundary>
    </>
  );
}
