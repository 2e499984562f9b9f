// A badge that says no language model is in use, with instructions in a popover.
import { Code, Popover, UnstyledButton } from "@mantine/core";
import { WELCOME } from "../words";
import { Badge } from "../ui/Badge";
import { useSession } from "./sessionContext";
import styles from "./DemoChip.module.css";

export function DemoChip() {
  const isDemo = useSession(({ state }) => state.greeting?.rehearsal);
  if (!isDemo) return null;
  return (
    <Popover position="bottom-end" width={340} shadow="md" withinPortal trapFocus>
      <Popover.Target>
        <UnstyledButton className={styles.badge} data-testid="demo" title={WELCOME.demo} aria-label={WELCOME.demo}>
          <Badge tone="wait">{WELCOME.demo_short}</Badge>
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown className={styles.details} data-testid="demo-more">
        <p>
          <strong>{WELCOME.demo}</strong>
        </p>
        <p>{WELCOME.demo_how}</p>
        <Code block>OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_MODEL=qwen3 make up</Code>
      </Popover.Dropdown>
    </Popover>
  );
}
