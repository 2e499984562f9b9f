// The list of global keyboard shortcuts, opened with `?`.
import { Kbd, Modal } from "@mantine/core";
import { useEffect, useState } from "react";
import { PAGE, SIGNS } from "../words";
import styles from "./Shortcuts.module.css";

const KEYS: readonly [string, string][] = [
  ["Enter", PAGE.key_send],
  ["Shift+Enter", PAGE.key_line],
  ["Ctrl+Enter", PAGE.key_approve],
  ["Ctrl+K", PAGE.key_search],
  ["Ctrl+.", PAGE.key_stop],
  ["?", PAGE.key_help],
];

export function Shortcuts() {
  const [opened, setOpened] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const typing = event.target instanceof Element && event.target.closest("input, textarea, [contenteditable=true]");
      if (event.key === "?" && !typing) setOpened(true);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  return (
    <Modal opened={opened} onClose={() => setOpened(false)} title={PAGE.shortcuts} size="sm" closeButtonProps={{ "aria-label": SIGNS.close_message }}>
      <dl className={styles.shortcuts} data-testid="shortcuts">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <Kbd>{key}</Kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}
