// Notices from the gateway, which disappear after a while; errors stay longer.
import { Notification } from "@mantine/core";
import { useEffect } from "react";
import { useClient, useSession } from "../app/sessionContext";
import { SIGNS, TROUBLE } from "../words";
import { type Notice, TRANSIENT_CODES } from "../state/state";
import { WarningIcon } from "./icons";
import styles from "./Notices.module.css";

const INFO_TIMEOUT_MS = 6_000;
const ERROR_TIMEOUT_MS = 15_000;

export function Notices() {
  const client = useClient();
  const notices = useSession(({ state }) => state.notices);
  const isEscalated = useSession(({ state }) => state.snapshot?.phase === "escalated");
  // In an escalated session a panel already shows the information that other notices would repeat.
  const isRelevant = (notice: Notice) => !isEscalated || notice.kind === "error" || TRANSIENT_CODES.has(notice.code);
  // The problems of steps are shown at their steps.
  const visible = notices.filter((notice) => isRelevant(notice) && !notice.steps);
  return (
    <div className={styles.notices} data-testid="notices">
      {visible.map((notice) => (
        <NoticeItem key={notice.key} notice={notice} onClose={() => client.dismiss(notice.key)} />
      ))}
    </div>
  );
}

function NoticeItem({ notice, onClose }: { notice: Notice; onClose: () => void }) {
  const isError = notice.kind === "error";
  useEffect(() => {
    const timer = setTimeout(onClose, isError ? ERROR_TIMEOUT_MS : INFO_TIMEOUT_MS);
    return () => clearTimeout(timer);
  }, [notice.key]); // not onClose: it is a new function on every render, and would restart the timer
  return (
    <Notification
      role={isError ? "alert" : "status"}
      data-testid={isError && notice.replyTo === null ? "error" : undefined}
      withBorder
      color={isError ? "red" : "indigo"}
      icon={isError ? <WarningIcon /> : undefined}
      title={isError ? (notice.code === "stale_version" ? TROUBLE.stale : TROUBLE.not_done) : undefined}
      closeButtonProps={{ "aria-label": SIGNS.close_message }}
      onClose={onClose}
    >
      {notice.text} {notice.hint}
    </Notification>
  );
}
