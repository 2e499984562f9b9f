// Words to choose from, as buttons: the answers that a question offers, or what could be asked for next.
import { Button } from "@mantine/core";
import buttons from "../ui/buttons.module.css";

export function OptionButtons({ options, testId, busy, onChoose }: { options: readonly string[]; testId: string; busy: boolean; onChoose: (option: string) => void }) {
  if (options.length === 0) return null;
  return (
    <div className={buttons.row}>
      {options.map((option) => (
        <Button key={option} variant="light" className={buttons.multiline} data-testid={testId} loading={busy} onClick={() => onChoose(option)}>
          {option}
        </Button>
      ))}
    </div>
  );
}
