import { Logo } from "../ui/icons";
import { useSession } from "./session";

const EXAMPLES = [
  { title: "A simple calculator", text: "Help me create a simple calculator" },
  { title: "A to-do list", text: "Write a to-do list for the terminal that keeps its tasks in a file" },
  { title: "Word statistics", text: "Count the words of a text and show the ten most frequent ones" },
];

export function Welcome() {
  const { client, pending, state } = useSession();
  const sending = pending.some((one) => one.command.type === "user_message");
  return (
    <section className="welcome" aria-label="Start">
      <Logo size={44} />
      <h2>What shall we plan?</h2>
      <p>
        Say what you need. You get a plan first, and nothing goes on before you approve it. Edit it, argue with it, ask for another one; then the
        same with the code.
      </p>
      <div className="welcome-examples">
        {EXAMPLES.map((example) => (
          <button
            key={example.title}
            type="button"
            data-testid="example"
            disabled={sending || !state.greeting}
            onClick={() => client.send({ type: "user_message", content: example.text })}
          >
            <strong>{example.title}</strong>
            <span>{example.text}</span>
          </button>
        ))}
      </div>
    </section>
  );
}
