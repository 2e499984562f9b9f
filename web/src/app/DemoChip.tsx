// Says plainly that no language model is at work, and on demand what to do about it.
import { Code, Popover, UnstyledButton } from "@mantine/core";
import { WELCOME } from "../generated/words";
import { Tone } from "../ui/Tone";
import { useSession } from "./session";

export function DemoChip() {
  const { state } = useSession();
  if (!state.greeting?.rehearsal) return null;
  return (
    <Popover position="bottom-end" width={340} shadow="md" withinPortal trapFocus>
      <Popover.Target>
        <UnstyledButton className="demo-chip" data-testid="demo" title={WELCOME.demo} aria-label={WELCOME.demo}>
          <Tone tone="wait">{WELCOME.demo_short}</Tone>
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown className="demo-more" data-testid="demo-more">
        <p>
          <strong>{WELCOME.demo}</strong>
        </p>
        <p>{WELCOME.demo_how}</p>
        <Code block>OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_MODEL=qwen3 make up</Code>
      </Popover.Dropdown>
    </Popover>
  );
}
