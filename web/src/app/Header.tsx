// Which session this is and where it stands, what it has cost, and what can be done with it as a whole.
import { ActionIcon, Menu, Tooltip, UnstyledButton, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { lazy, Suspense, useState } from "react";
import { ACTIONS, PAGE, SIGNS, TEMPLATES } from "../generated/words";
import { exportUrl } from "../net/api";
import { Inbox } from "../inbox/Inbox";
import { count, money, plural, stateWords } from "../ui/format";
import type { Snapshot } from "../protocol";
import * as Icon from "../ui/icons";
import { Tone, toneOf } from "../ui/Tone";
import { useAct, useCan, useSession } from "./session";
import { DemoChip } from "./DemoChip";
import { TitleEditor } from "./TitleEditor";

const SaveTemplate = lazy(() => import("../templates/SaveTemplate"));

export function Header({ onMenu, menuOpen }: { onMenu: () => void; menuOpen: boolean }) {
  const { state } = useSession();
  const can = useCan();
  const [renaming, setRenaming] = useState(false);
  const [saving, setSaving] = useState(false);
  const { snapshot } = state;
  const unfinished = can("retry");
  return (
    <header className="header">
      <ActionIcon variant="subtle" color="gray" size="lg" onClick={onMenu} aria-label={SIGNS.sessions} aria-expanded={menuOpen}>
        <Icon.Menu />
      </ActionIcon>
      {renaming ? (
        <TitleEditor title={snapshot?.title ?? ""} onDone={() => setRenaming(false)} />
      ) : (
        <h1 className="header-title" title={snapshot?.title}>
          {can("rename") ? (
            <UnstyledButton onClick={() => setRenaming(true)} aria-label={`Rename: ${snapshot?.title}`}>
              {snapshot?.title}
            </UnstyledButton>
          ) : (
            (snapshot?.title ?? (state.missing ? PAGE.missing_title : state.sessionId ? "…" : PAGE.begin))
          )}
        </h1>
      )}
      {snapshot && (
        <Tone tone={snapshot.paused ? "wait" : toneOf(snapshot.phase, snapshot.reason, unfinished)} className="header-state" data-testid="state" data-state={snapshot.state} title={stateWords({ ...snapshot, unfinished })}>
          {stateWords({ ...snapshot, unfinished })}
        </Tone>
      )}
      <UsageNote />
      <DemoChip />
      <Inbox />
      <ColorToggle />
      {snapshot && <SessionMenu renaming={renaming} onRename={() => setRenaming(true)} onTemplate={() => setSaving(true)} />}
      {saving && snapshot && (
        <Suspense>
          <SaveTemplate sessionId={snapshot.session_id} source={snapshot.plan?.kind === "execution" ? "plan" : "session"} onClose={() => setSaving(false)} />
        </Suspense>
      )}
    </header>
  );
}

function UsageNote() {
  const { state } = useSession();
  const usage = state.snapshot?.usage;
  if (!usage || usage.calls === 0) return null;
  const tokens = usage.prompt_tokens + usage.completion_tokens;
  const detail = `${plural(usage.calls, "model call")}: ${usage.prompt_tokens.toLocaleString("en")} tokens read (${usage.cached_tokens.toLocaleString("en")} cached), ${usage.completion_tokens.toLocaleString("en")} written${limited(usage)}`;
  return (
    <Tooltip label={detail} events={{ hover: true, focus: true, touch: true }} multiline maw={300}>
      <span className="usage" data-testid="usage" tabIndex={0} aria-label={`${detail}, ${money(usage.cost)}`}>
        {count(tokens)} tokens{usage.token_budget ? ` of ${count(usage.token_budget)}` : ""}
        <span className="usage-more">
          {" · "}
          {money(usage.cost)} · {plural(usage.calls, "call")}
        </span>
      </span>
    </Tooltip>
  );
}

/** What else a budget limits: calls of tools, and the time of services at work. */
function limited({ tool_calls, call_budget, seconds, time_budget }: Snapshot["usage"]): string {
  const calls = call_budget ? `; ${tool_calls ?? 0} of ${plural(call_budget, "tool call")}` : "";
  return time_budget ? `${calls}; ${Math.round(seconds ?? 0)} of ${time_budget} s at work` : calls;
}

function ColorToggle() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const other = scheme === "dark" ? "light" : "dark";
  return (
    <ActionIcon variant="subtle" color="gray" size="lg" onClick={() => setColorScheme(other)} aria-label={SIGNS[other]}>
      {scheme === "dark" ? <Icon.Sun /> : <Icon.Moon />}
    </ActionIcon>
  );
}

function SessionMenu({ renaming, onRename, onTemplate }: { renaming: boolean; onRename: () => void; onTemplate: () => void }) {
  const { state } = useSession();
  const can = useCan();
  const act = useAct();
  const called = [...state.journal.values()].some((one) => one.kind === "action" && one.state === "finished");
  const { snapshot } = state;
  if (!snapshot?.version) return null;
  const learnable = called && snapshot.workflow !== "flow"; // the nodes of a flow are no calls of tools
  const id = snapshot.session_id;
  return (
    // The focus returns to the menu's button, unless the title is being edited: it would be taken away from there.
    <Menu position="bottom-end" withinPortal shadow="md" returnFocus={!renaming}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={SIGNS.menu} data-testid="session-menu" loading={act.busy}>
          <Icon.Dots />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {can("rename") && (
          <Menu.Item leftSection={<Icon.Pen />} onClick={onRename}>
            {ACTIONS.rename}
          </Menu.Item>
        )}
        {can("fork") && (
          <Menu.Item leftSection={<Icon.Fork />} onClick={() => act.send({ type: "fork" })}>
            {ACTIONS.fork}
          </Menu.Item>
        )}
        <Menu.Label>Export</Menu.Label>
        <Menu.Item component="a" href={exportUrl(id, "md")} download leftSection={<Icon.Download />}>
          Markdown
        </Menu.Item>
        <Menu.Item component="a" href={exportUrl(id, "json")} download leftSection={<Icon.Download />}>
          JSON
        </Menu.Item>
        {snapshot.code && (
          <Menu.Item component="a" href={exportUrl(id, "py")} download leftSection={<Icon.Download />}>
            Python file
          </Menu.Item>
        )}
        {(snapshot.plan?.kind === "execution" || learnable) && (
          <Menu.Item leftSection={<Icon.Book />} onClick={onTemplate} data-testid="menu-template">
            {TEMPLATES.save}
          </Menu.Item>
        )}
        {can("cancel") && (
          <>
            <Menu.Divider />
            <Menu.Item color="red" leftSection={<Icon.Cross />} onClick={() => act.send({ type: "cancel" })}>
              {ACTIONS.discard_plan}
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
