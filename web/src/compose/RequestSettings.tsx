// The settings of the next request, behind a button beside the composer.
import { ActionIcon, Loader, Popover } from "@mantine/core";
import { lazy, useState } from "react";
import { useSession } from "../app/sessionContext";
import { SETTINGS, SIGNS } from "../words";
import { LazyBoundary } from "../ui/LazyBoundary";
import { SettingsIcon } from "../ui/icons";

const SettingsForm = lazy(() => import("./SettingsForm"));

export function RequestSettings() {
  const hasChoice = useSession(({ state }) => (state.greeting?.workflows.length ?? 0) >= 2);
  const [opened, setOpened] = useState(false);
  if (!hasChoice) return null;
  return (
    <Popover opened={opened} onChange={setOpened} position="top-start" width={350} shadow="md" trapFocus withinPortal>
      <Popover.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size={42}
          aria-label={SETTINGS.title}
          title={SETTINGS.title}
          aria-expanded={opened}
          data-testid="request-settings"
          onClick={() => setOpened(!opened)}
        >
          <SettingsIcon />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown>
        <LazyBoundary fallback={<Loader size="sm" aria-label={SIGNS.loading} />}>
          <SettingsForm />
        </LazyBoundary>
      </Popover.Dropdown>
    </Popover>
  );
}
