// Texts and files attached to a request, for the planner to read.
import { ActionIcon, Button, FileButton, Pill, Popover, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTextDraft } from "../app/useDraft";
import { COMPOSER, fill } from "../words";
import { formatKib, jsonBytes } from "../net/frame";
import type { Knowledge } from "../protocol";
import { codePointLength } from "../state/codePoints";
import { AttachIcon } from "../ui/icons";
import { isObject } from "../ui/values";
import { MAX_LENGTH, TooLong } from "./TooLong";
import styles from "./Knowledge.module.css";
import typography from "../ui/typography.module.css";

const MAX_ITEMS = 20;

interface Props {
  knowledge: readonly Knowledge[];
  onChange: (knowledge: readonly Knowledge[]) => void;
}

export const NO_KNOWLEDGE: readonly Knowledge[] = [];

/** Type guard for stored values. */
export function isKnowledge(value: unknown): value is readonly Knowledge[] {
  return Array.isArray(value) && value.every((item) => isObject(item) && typeof item.name === "string" && typeof item.text === "string");
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
          <bdi>{item.name}</bdi> · {formatKib(jsonBytes(item.text))}
        </Pill>
      ))}
    </Pill.Group>
  );
}

export function KnowledgeMenu({ knowledge, onChange }: Props) {
  const [opened, setOpened] = useState(false);
  const { value: name, set: setName } = useTextDraft("knowledge name");
  const { value: text, set: setText } = useTextDraft("knowledge text");
  const [problem, setProblem] = useState("");
  const isFull = knowledge.length >= MAX_ITEMS;

  const add = (more: Knowledge[]) => {
    if (knowledge.length + more.length > MAX_ITEMS) return setProblem(COMPOSER.add_context_full);
    onChange([...knowledge, ...more]);
    setName("");
    setText("");
    setProblem("");
    setOpened(false);
  };
  const addFiles = async (files: File[]) => {
    const texts = await Promise.all(files.map(async (file) => ({ name: file.name, text: await file.text() })));
    const isLong = ({ text }: Knowledge) => codePointLength(text) > MAX_LENGTH;
    const invalid = texts.find((item) => isLong(item) || item.text.includes("\u0000"));
    if (invalid) return setProblem(isLong(invalid) ? fill(COMPOSER.context_long, { name: invalid.name, most: MAX_LENGTH.toLocaleString("en") }) : fill(COMPOSER.context_not_text, { name: invalid.name }));
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
        <div className={styles.knowledge}>
          <TextInput label={COMPOSER.name} placeholder="notes.md" maxLength={200} value={name} onChange={(event) => setName(event.currentTarget.value)} data-testid="context-name" />
          <Textarea label={COMPOSER.text} rows={5} value={text} onChange={(event) => setText(event.currentTarget.value)} data-testid="context-text" />
          <TooLong text={text} />
          {problem && (
            <p className={typography.problem} role="alert">
              {problem}
            </p>
          )}
          <div className={styles.row}>
            <FileButton multiple onChange={(files) => void addFiles(files)}>
              {(props) => (
                <Button {...props} variant="default" size="xs">
                  {COMPOSER.files}
                </Button>
              )}
            </FileButton>
            <Button size="xs" disabled={!text.trim() || codePointLength(text) > MAX_LENGTH} onClick={() => add([{ name: name.trim() || "note", text }])} data-testid="context-add">
              {COMPOSER.add}
            </Button>
          </div>
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}
