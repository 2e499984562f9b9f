// React context and hooks for the session on the screen.
import { createContext, useCallback, useContext, useMemo, useState } from "react";
import { JOURNAL } from "../generated/words";
import type { SessionClient, SessionView } from "../net/client";
import type { Command, CommandType } from "../protocol";
import type { Notice } from "../state/state";

interface SessionContextValue extends SessionView {
  client: SessionClient;
}

const SessionContext = createContext<SessionContextValue | null>(null);
// A separate context: the journal needs only the user, so it does not render again for each draft delta.
const UserContext = createContext<string | undefined>(undefined);

export function SessionProvider({ client, view, children }: { client: SessionClient; view: SessionView; children: React.ReactNode }) {
  const shared = useMemo(() => ({ ...view, client }), [client, view]);
  return (
    <SessionContext value={shared}>
      <UserContext value={view.state.greeting?.user}>{children}</UserContext>
    </SessionContext>
  );
}

export function useSession(): SessionContextValue {
  const shared = useContext(SessionContext);
  if (!shared) throw new Error("useSession is for components inside SessionProvider");
  return shared;
}

/** Returns a function that says whether the gateway would accept this command now. */
export function useCan(): (type: CommandType) => boolean {
  const { state } = useSession();
  return useCallback((type) => !!state.snapshot?.can.includes(type), [state.snapshot]);
}

export interface CommandSender {
  /** `draftKeys` name what the user typed for the command. */
  send(command: Command, draftKeys?: readonly string[]): void;
  /** Whether the command was sent, and is neither recorded nor refused yet. */
  busy: boolean;
  error: Notice | null;
}

/** Sends one command for a control. Returns whether it is pending, and why it was refused. */
export function useCommand(): CommandSender {
  const { client, pending, state } = useSession();
  const [id, setId] = useState("");
  return {
    send: (command, draftKeys) => setId(client.send(command, draftKeys)),
    busy: pending.some((item) => item.id === id),
    error: (id && state.notices.find((notice) => notice.replyTo === id)) || null,
  };
}

export interface BatchSender {
  send(commands: readonly Command[]): void;
  busy: boolean;
  errors: readonly Notice[];
}

/** Sends several commands for one control. Returns whether any is pending, and why some were refused. */
export function useCommands(): BatchSender {
  const { client, pending, state } = useSession();
  const [ids, setIds] = useState<readonly string[]>([]);
  return {
    send: (commands) => setIds(commands.map((command) => client.send(command))),
    busy: pending.some((item) => ids.includes(item.id)),
    errors: state.notices.filter(({ replyTo }) => replyTo && ids.includes(replyTo)),
  };
}

/** Returns a function that turns an actor into "You", another user's name, or a service's name. */
export function useDisplayName(): (actor: string) => string {
  const user = useContext(UserContext);
  return useCallback((actor) => (actor === `user:${user}` ? JOURNAL.you : actor.replace(/^user:/, "").replace("_", " ")), [user]);
}
