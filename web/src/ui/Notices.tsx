// What the gateway says in passing: refusals stay until they are closed, words go by themselves.
import { Notification } from "@mantine/core";
import { useEffect } from "react";
import { useSession } from "../app/session";
import { SIGNS, TROUBLE } from "../generated/words";
import { type Notice, PASSING } from "../state/state";
import { Warning } from "./icons";

const READ = 6_000;
const READ_ERROR = 15_000;

export function Notices() {
  const { state, client } = useSession();
  // Who must take over is told so in the panel, where it does not go by itself.
  const told = state.snapshot?.phase === "escalated" ? state.notices.filter((notice) => notice.kind === "error" || PASSING.has(notice.code)) : state.notices;
  const shown = told.filter((notice) => !notice.steps); // that stands at the steps until it is put right
  return (
    <div className="notices">
      {shown.map((notice) => (
        <One key={notice.key} notice={notice} onClose={() => client.dismiss(notice.key)} />
      ))}
    </div>
  );
}

function One({ notice, onClose }: { notice: Notice; onClose: () => void }) {
  const bad = notice.kind === "error";
  useEffect(() => {
    const timer = setTimeout(onClose, bad ? READ_ERROR : READ);
    return () => clearTimeout(timer);
  }, [notice.key]);
  return (
    <Notification
      role={bad ? "alert" : "status"}
      data-testid={bad && notice.replyTo === null ? "error" : undefined}
      withBorder
      color={bad ? "red" : "indigo"}
      icon={bad ? <Warning /> : undefined}
      title={bad ? (notice.code === "stale_version" ? TROUBLE.stale : TROUBLE.not_done) : undefined}
      closeButtonProps={{ "aria-label": SIGNS.close_message }}
      onClose={onClose}
    >
      {notice.text} {notice.hint}
    </Notification>
  );
}
