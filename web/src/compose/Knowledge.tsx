// Texts and files that go with a request, for the planner to read.
import { ActionIcon, Button, FileButton, Pill, Popover, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { COMPOSER, fill } from "../generated/words";
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
    <Pill.Group aria-label={COMPOSER.context}>
      {knowledge.map((one, index) => (
        <Pill
          key={`${index} ${one.name}`}
          withRemoveButton
          removeButtonProps={{ "aria-label": fill(COMPOSER.remove, { name: one.name }), tabIndex: 0 }}
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
    if (bad) return setProblem(bad.text.length > LONGEST ? fill(COMPOSER.context_long, { name: bad.name, most: LONGEST.toLocaleString("en") }) : fill(COMPOSER.context_not_text, { name: bad.name }));
    add(texts);
  };
  return (
    <Popover opened={opened} onChange={setOpened} position="top-start" width={340} shadow="md" trapFocus withinPortal>
      <Popover.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size={42}
          aria-label={COMPOSER.add_context}
          title={full ? COMPOSER.add_context_full : COMPOSER.add_context}
          data-testid="add-context"
          disabled={full}
          onClick={() => setOpened(!opened)}
        >
          <Clip />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown>
        <div className="knowledge">
          <TextInput label={COMPOSER.name} placeholder="notes.md" maxLength={200} value={name} onChange={(event) => setName(event.currentTarget.value)} data-testid="context-name" />
          <Textarea label={COMPOSER.text} rows={5} maxLength={LONGEST} value={text} onChange={(event) => setText(event.currentTarget.value)} data-testid="context-text" />
          {problem && (
            <p className="problem" role="alert">
              {problem}
            </p>
          )}
          <div className="knowledge-row">
            <FileButton multiple onChange={(files) => void read(files)}>
              {(props) => (
                <Button {...props} variant="default" size="xs">
                  {COMPOSER.files}
                </Button>
              )}
            </FileButton>
            <Button size="xs" disabled={!text.trim()} onClick={() => add([{ name: name.trim() || "note", text }])} data-testid="context-add">
              {COMPOSER.add}
            </Button>
          </div>
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}
