import { TextInput } from "@mantine/core";
import { useState } from "react";
import { SIGNS } from "../generated/words";
import { useAct } from "./session";

export function TitleEditor({ title, onDone }: { title: string; onDone: () => void }) {
  const [text, setText] = useState(title);
  const act = useAct();
  const save = () => {
    const wanted = text.trim();
    if (wanted && wanted !== title) act.send({ type: "rename", title: wanted });
    onDone();
  };
  return (
    <form
      className="header-title"
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
