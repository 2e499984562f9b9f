// Says plainly that no language model is at work, and what to do about it. Closing it holds for this browser tab.
import { Anchor, CloseButton, Code, Collapse } from "@mantine/core";
import { useDisclosure, useSessionStorage } from "@mantine/hooks";
import { WELCOME } from "../generated/words";
import { Warning } from "../ui/icons";
import { useSession } from "./session";

export function Banner() {
  const { state } = useSession();
  const [closed, setClosed] = useSessionStorage({ key: "parley.banner-closed", defaultValue: false, getInitialValueInEffect: false });
  const [open, { toggle }] = useDisclosure(false);
  if (!state.greeting?.rehearsal || closed) return null;
  return (
    <aside className="banner" data-testid="banner" aria-label="About the model">
      <Warning />
      <div className="banner-text">
        <strong>{WELCOME.demo}</strong>{" "}
        <Anchor component="button" type="button" size="sm" onClick={toggle} aria-expanded={open}>
          {WELCOME.demo_connect}
        </Anchor>
        <Collapse expanded={open}>
          <p>
            {WELCOME.demo_how}
          </p>
          <Code block>OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_MODEL=qwen3 make up</Code>
        </Collapse>
      </div>
      <CloseButton aria-label="Hide this for now" onClick={() => setClosed(true)} />
    </aside>
  );
}
