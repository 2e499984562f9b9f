// Buttons to accept an answer, and to save it to the library.
import { Button } from "@mantine/core";
import { useCan, useCommand, useSession } from "../app/sessionContext";
import { ACTIONS, LIBRARY } from "../words";
import { BookIcon, ThumbUpIcon } from "../ui/icons";
import { Problem } from "../ui/Problem";
import buttons from "../ui/buttons.module.css";
import typography from "../ui/typography.module.css";

interface Props {
  accepted: boolean;
  saved: boolean;
  /** Whether this is the newest answer: only that one can be judged. */
  isNewest: boolean;
}

export function JudgeButtons({ accepted, saved, isNewest }: Props) {
  const isResting = useSession(({ state }) => state.snapshot?.phase === "resting");
  const can = useCan();
  const acceptCommand = useCommand();
  const saveCommand = useCommand();
  if (!isNewest || !can("judge") || !isResting)
    return accepted ? (
      <p className={typography.dimmed} data-testid="judged">
        {saved ? LIBRARY.correct_saved : LIBRARY.correct}
      </p>
    ) : null;
  return (
    <div className={buttons.row}>
      <Button
        size="compact-sm"
        variant={accepted ? "light" : "default"}
        color={accepted ? "teal" : undefined}
        leftSection={<ThumbUpIcon size={15} />}
        aria-pressed={accepted}
        loading={acceptCommand.busy}
        onClick={() => acceptCommand.send({ type: "judge", accepted: !accepted, saved: false })}
        data-testid="accept"
      >
        {LIBRARY.correct}
      </Button>
      <Button
        size="compact-sm"
        variant="default"
        onClick={() => {
          if (accepted) acceptCommand.send({ type: "judge", accepted: false, saved: false });
          document.querySelector<HTMLElement>("#composer textarea")?.focus(); // the user describes the problem there
        }}
        data-testid="not-correct"
      >
        {ACTIONS.not_correct}
      </Button>
      <Button
        size="compact-sm"
        variant={saved ? "light" : "default"}
        color={saved ? "teal" : undefined}
        leftSection={<BookIcon size={15} />}
        aria-pressed={saved}
        loading={saveCommand.busy}
        onClick={() => saveCommand.send({ type: "judge", accepted: true, saved: !saved })}
        data-testid="save"
      >
        {saved ? ACTIONS.saved : ACTIONS.save}
      </Button>
      <Problem error={acceptCommand.error ?? saveCommand.error} />
    </div>
  );
}
