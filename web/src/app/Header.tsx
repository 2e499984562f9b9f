// The header: the session's title, state and cost, and the actions on the whole session.
import { ActionIcon, Menu, Tooltip, UnstyledButton, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { lazy, useState } from "react";
import { ACTIONS, PAGE, SIGNS, TEMPLATES } from "../words";
import { Inbox } from "../inbox/Inbox";
import { exportUrl } from "../net/api";
import type { Snapshot } from "../protocol";
import { Badge, toneOf } from "../ui/Badge";
import { LazyBoundary } from "../ui/LazyBoundary";
import { formatCount, formatMoney, pluralize, stateLabel } from "../ui/format";
import { BookIcon, CloseIcon, DownloadIcon, EditIcon, ForkIcon, MenuIcon, MoonIcon, MoreIcon, SunIcon } from "../ui/icons";
import { DemoChip } from "./DemoChip";
import { useCan, useCommand, useSession, useSnapshot } from "./sessionContext";
import { TitleEditor } from "./TitleEditor";
import styles from "./Header.module.css";

const SaveTemplate = lazy(() => import("../templates/SaveTemplate"));

export function Header({ onMenu, menuOpen }: { onMenu: () => void; menuOpen: boolean }) {
  const snapshot = useSnapshot();
  const emptyTitle = useSession(({ state }) => (state.missing ? PAGE.missing_title : state.sessionId ? "…" : PAGE.begin));
  const can = useCan();
  const [isRenaming, setIsRenaming] = useState(false);
  const [isSaving, setIsSaving] = useState(false);
  const unfinished = can("retry");
  return (
    <header className={styles.header}>
      <ActionIcon variant="subtle" color="gray" size="lg" onClick={onMenu} aria-label={SIGNS.sessions} aria-expanded={menuOpen}>
        <MenuIcon />
      </ActionIcon>
      {isRenaming ? (
        <TitleEditor title={snapshot?.title ?? ""} onDone={() => setIsRenaming(false)} />
      ) : (
        <h1 className={styles.title} title={snapshot?.title}>
          {can("rename") ? (
            <UnstyledButton onClick={() => setIsRenaming(true)} aria-label={`Rename: ${snapshot?.title}`}>
              {snapshot?.title}
            </UnstyledButton>
          ) : (
            (snapshot?.title ?? emptyTitle)
          )}
        </h1>
      )}
      {snapshot && (
        <Badge tone={snapshot.paused ? "wait" : toneOf(snapshot.state, snapshot.phase, snapshot.reason, unfinished)} className={styles.state} data-testid="state" data-state={snapshot.state} title={stateLabel({ ...snapshot, unfinished })}>
          {stateLabel({ ...snapshot, unfinished })}
        </Badge>
      )}
      <UsageNote />
      <DemoChip />
      <Inbox />
      <ColorToggle />
      {snapshot && <SessionMenu renaming={isRenaming} onRename={() => setIsRenaming(true)} onTemplate={() => setIsSaving(true)} />}
      {isSaving && snapshot && (
        <LazyBoundary>
          <SaveTemplate sessionId={snapshot.session_id} source={snapshot.plan?.kind === "execution" ? "plan" : "session"} onClose={() => setIsSaving(false)} />
        </LazyBoundary>
      )}
    </header>
  );
}

function UsageNote() {
  const usage = useSession(({ state }) => state.snapshot?.usage);
  if (!usage || usage.calls === 0) return null;
  const tokens = usage.prompt_tokens + usage.completion_tokens;
  const [read, cached, written] = [usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens].map((count) => count.toLocaleString("en"));
  const detail = `${pluralize(usage.calls, "model call")}: ${read} tokens read (${cached} cached), ${written} written${budgetText(usage)}`;
  return (
    <Tooltip label={detail} events={{ hover: true, focus: true, touch: true }} multiline maw={300}>
      <span className={styles.usage} data-testid="usage" tabIndex={0} aria-label={`${detail}, ${formatMoney(usage.cost)}`}>
        {formatCount(tokens)} tokens{usage.token_budget ? ` of ${formatCount(usage.token_budget)}` : ""}
        <span className={styles.details}>
          {" · "}
          {formatMoney(usage.cost)} · {pluralize(usage.calls, "call")}
        </span>
      </span>
    </Tooltip>
  );
}

/** The other budgets as text: tool calls, and seconds of service time. */
function budgetText({ tool_calls, call_budget, seconds, time_budget }: Snapshot["usage"]): string {
  const calls = call_budget ? `; ${tool_calls ?? 0} of ${pluralize(call_budget, "tool call")}` : "";
  return time_budget ? `${calls}; ${Math.round(seconds ?? 0)} of ${time_budget} s at work` : calls;
}

function ColorToggle() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const other = scheme === "dark" ? "light" : "dark";
  return (
    <ActionIcon variant="subtle" color="gray" size="lg" onClick={() => setColorScheme(other)} aria-label={SIGNS[other]}>
      {scheme === "dark" ? <SunIcon /> : <MoonIcon />}
    </ActionIcon>
  );
}

function SessionMenu({ renaming, onRename, onTemplate }: { renaming: boolean; onRename: () => void; onTemplate: () => void }) {
  const snapshot = useSnapshot();
  const can = useCan();
  const command = useCommand();
  const hasCalls = useSession(({ state }) => [...state.journal.values()].some((entry) => entry.kind === "action" && entry.state === "finished"));
  if (!snapshot?.version) return null;
  const canSave = hasCalls && snapshot.workflow !== "flow"; // the nodes of a flow are not tool calls
  const id = snapshot.session_id;
  return (
    // Return focus to the menu's button, except while the title is edited: that would blur the title field.
    <Menu position="bottom-end" withinPortal shadow="md" returnFocus={!renaming}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={SIGNS.menu} data-testid="session-menu" loading={command.busy}>
          <MoreIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {can("rename") && (
          <Menu.Item leftSection={<EditIcon />} onClick={onRename}>
            {ACTIONS.rename}
          </Menu.Item>
        )}
        {can("fork") && (
          <Menu.Item leftSection={<ForkIcon />} onClick={() => command.send({ type: "fork" })}>
            {ACTIONS.fork}
          </Menu.Item>
        )}
        <Menu.Label>Export</Menu.Label>
        <Menu.Item component="a" href={exportUrl(id, "md")} download leftSection={<DownloadIcon />}>
          Markdown
        </Menu.Item>
        <Menu.Item component="a" href={exportUrl(id, "json")} download leftSection={<DownloadIcon />}>
          JSON
        </Menu.Item>
        {snapshot.code && (
          <Menu.Item component="a" href={exportUrl(id, "py")} download leftSection={<DownloadIcon />}>
            Python file
          </Menu.Item>
        )}
        {(snapshot.plan?.kind === "execution" || canSave) && (
          <Menu.Item leftSection={<BookIcon />} onClick={onTemplate} data-testid="menu-template">
            {TEMPLATES.save}
          </Menu.Item>
        )}
        {can("cancel") && (
          <>
            <Menu.Divider />
            <Menu.Item color="red" leftSection={<CloseIcon />} onClick={() => command.send({ type: "cancel" })}>
              {ACTIONS.discard_plan}
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
