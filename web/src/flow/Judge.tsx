// The person's word on an answer: it is what was wanted, and it is worth keeping.
import { Button } from "@mantine/core";
import { useAct, useCan, useSession } from "../app/session";
import { ACTIONS, LIBRARY } from "../generated/words";
import { Book, ThumbUp } from "../ui/icons";
import { Problem } from "../ui/Problem";

interface Props {
  accepted: boolean;
  saved: boolean;
  /** Only the newest answer can still be judged. */
  newest: boolean;
}

export function Judge({ accepted, saved, newest }: Props) {
  const { state } = useSession();
  const can = useCan();
  const accepting = useAct();
  const saving = useAct();
  if (!newest || !can("judge") || state.snapshot?.phase !== "resting")
    return accepted ? (
      <p className="dimmed" data-testid="judged">
        {saved ? LIBRARY.correct_saved : LIBRARY.correct}
      </p>
    ) : null;
  return (
    <div className="decision-buttons judge">
      <Button
        size="compact-sm"
        variant={accepted ? "light" : "default"}
        color={accepted ? "teal" : undefined}
        leftSection={<ThumbUp size={15} />}
        aria-pressed={accepted}
        loading={accepting.busy}
        onClick={() => accepting.send({ type: "judge", accepted: !accepted, saved: false })}
        data-testid="accept"
      >
        {LIBRARY.correct}
      </Button>
      <Button
        size="compact-sm"
        variant="default"
        onClick={() => {
          if (accepted) accepting.send({ type: "judge", accepted: false, saved: false });
          document.querySelector<HTMLElement>("#composer textarea")?.focus(); // what is wrong is said there
        }}
        data-testid="not-correct"
      >
        {ACTIONS.not_correct}
      </Button>
      <Button
        size="compact-sm"
        variant={saved ? "light" : "default"}
        color={saved ? "teal" : undefined}
        leftSection={<Book size={15} />}
        aria-pressed={saved}
        loading={saving.busy}
        onClick={() => saving.send({ type: "judge", accepted: true, saved: !saved })}
        data-testid="save"
      >
        {saved ? ACTIONS.saved : ACTIONS.save}
      </Button>
      <Problem error={accepting.error ?? saving.error} />
    </div>
  );
}
