import { TextInput } from "@mantine/core";
import { useState } from "react";
import { SIGNS } from "../words";
import { useCommand } from "./sessionContext";
import headerStyles from "./Header.module.css";

export function TitleEditor({ title, onDone }: { title: string; onDone: () => void }) {
  const [text, setText] = useState(title);
  const command = useCommand();
  const save = () => {
    const newTitle = text.trim();
    if (newTitle && newTitle !== title) command.send({ type: "rename", title: newTitle });
    onDone();
  };
  return (
    <form
      className={headerStyles.title}
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <TextInput
        size="xs"
        aria-label={SIGNS.title_field}
        data-testid="title-input"
        maxLength={500}
        value={text}
        autoFocus
        onFocus={(event) => event.currentTarget.select()}
        onChange={(event) => setText(event.currentTarget.value)}
        onBlur={save}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          onDone();
        }}
      />
    </form>
  );
}
