// Texts and files attached to a request, for the planner to read.
import { ActionIcon, Button, FileButton, Pill, Popover, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { COMPOSER, fill } from "../generated/words";
import type { Knowledge } from "../protocol";
import { AttachIcon } from "../ui/icons";

const MAX_ITEMS = 20;
const MAX_LENGTH = 50_000;

interface Props {
  knowledge: Knowledge[];
  onChange: (knowledge: Knowledge[]) => void;
}

export function KnowledgeChips({ knowledge, onChange }: Props) {
  if (knowledge.length === 0) return null;
  return (
    <Pill.Group aria-label={COMPOSER.context}>
      {knowledge.map((item, index) => (
        <Pill
          key={`${index} ${item.name}`}
          withRemoveButton
          removeButtonProps={{ "aria-label": fill(COMPOSER.remove, { name: item.name }), tabIndex: 0 }}
          onRemove={() => onChange(knowledge.filter((_, other) => other !== index))}
        >
          {item.name} · {item.text.length.toLocaleString("en")} characters
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
  const isFull = knowledge.length >= MAX_ITEMS;

  const add = (more: Knowledge[]) => {
    onChange([...knowledge, ...more].slice(0, MAX_ITEMS));
    setName("");
    setText("");
    setProblem("");
    setOpened(false);
  };
  const addFiles = async (files: File[]) => {
    const texts = await Promise.all(files.map(async (file) => ({ name: file.name, text: await file.text() })));
    const invalid = texts.find((item) => item.text.length > MAX_LENGTH || item.text.includes("\u0000"));
    if (invalid) return setProblem(invalid.text.length > MAX_LENGTH ? fill(COMPOSER.context_long, { name: invalid.name, most: MAX_LENGTH.toLocaleString("en") }) : fill(COMPOSER.context_not_text, { name: invalid.name }));
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
          title={isFull ? COMPOSER.add_context_full : COMPOSER.add_context}
          data-testid="add-context"
          disabled={isFull}
          onClick={() => setOpened(!opened)}
        >
          <AttachIcon />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown>
        <div className="knowledge">
          <TextInput label={COMPOSER.name} placeholder="notes.md" maxLength={200} value={name} onChange={(event) => setName(event.currentTarget.value)} data-testid="context-name" />
          <Textarea label={COMPOSER.text} rows={5} maxLength={MAX_LENGTH} value={text} onChange={(event) => setText(event.currentTarget.value)} data-testid="context-text" />
          {problem && (
            <p className="problem" role="alert">
              {problem}
            </p>
          )}
          <div className="knowledge-row">
            <FileButton multiple onChange={(files) => void addFiles(files)}>
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
