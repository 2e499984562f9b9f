// Texts and files that go with a request, for the planner to read.
import { ActionIcon, Button, FileButton, Pill, Popover, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Knowledge } from "../protocol";
import { Clip } from "../ui/icons";

const MOST = 20;
const LONGEST = 50_000;

interface Props {
  knowledge: Knowledge[];
  onChange: (knowledge: Knowledge[]) => void;
}

export function KnowledgeChips({ knowledge, onChange }: Props) {
  if (knowledge.length === 0) return null;
  return (
    <Pill.Group aria-label="Context that goes with the request">
      {knowledge.map((one, index) => (
        <Pill
          key={`${index} ${one.name}`}
          withRemoveButton
          removeButtonProps={{ "aria-label": `Remove ${one.name}`, tabIndex: 0 }}
          onRemove={() => onChange(knowledge.filter((_, at) => at !== index))}
        >
          {one.name} · {one.text.length.toLocaleString("en")} characters
        </Pill>
      ))}
    </Pill.Group>
  );
}

export function KnowledgeMenu({ knowledge, onChange }: Props) {
  const [opened, setOpened] = useState(false);
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const full = knowledge.length >= MOST;

  const add = (more: Knowledge[]) => {
    onChange([...knowledge, ...more].slice(0, MOST));
    setName("");
    setText("");
    setProblem("");
    setOpened(false);
  };
  const read = async (files: File[]) => {
    const texts = await Promise.all(files.map(async (file) => ({ name: file.name, text: await file.text() })));
    const bad = texts.find((one) => one.text.length > LONGEST || one.text.includes("\u0000"));
    if (bad) return setProblem(`${bad.name} is ${bad.text.length > LONGEST ? "longer than 50,000 characters" : "no text"}.`);
    add(texts);
  };
  return (
    <Popover opened={opened} onChange={setOpened} position="top-start" width={340} shadow="md" trapFocus withinPortal>
      <Popover.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size={42}
          aria-label="Add context"
          title={full ? "20 pieces of context are the most" : "Add context"}
          data-testid="add-context"
          disabled={full}
          onClick={() => setOpened(!opened)}
        >
          <Clip />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown>
        <div className="knowledge">
          <TextInput label="Name" placeholder="notes.md" maxLength={200} value={name} onChange={(event) => setName(event.currentTarget.value)} data-testid="context-name" />
          <Textarea label="Text" rows={5} maxLength={LONGEST} value={text} onChange={(event) => setText(event.currentTarget.value)} data-testid="context-text" />
          {problem && (
            <p className="problem" role="alert">
              {problem}
            </p>
          )}
          <div className="knowledge-row">
            <FileButton multiple onChange={(files) => void read(files)}>
              {(props) => (
                <Button {...props} variant="default" size="xs">
                  From files…
                </Button>
              )}
            </FileButton>
            <Button size="xs" disabled={!text.trim()} onClick={() => add([{ name: name.trim() || "note", text }])} data-testid="context-add">
              Add
            </Button>
          </div>
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}
