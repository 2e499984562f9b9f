// How components reach the session on the screen.
import { createContext, useCallback, useContext, useMemo, useState } from "react";
import { JOURNAL } from "../generated/words";
import type { SessionClient, View } from "../net/client";
import type { Command, CommandType } from "../protocol";
import type { Notice } from "../state/state";

interface Shared extends View {
  client: SessionClient;
}

const SessionContext = createContext<Shared | null>(null);
// Apart, because the journal needs only this: it is not drawn again for every piece of a draft.
const UserContext = createContext<string | undefined>(undefined);

export function SessionProvider({ client, view, children }: { client: SessionClient; view: View; children: React.ReactNode }) {
  const shared = useMemo(() => ({ ...view, client }), [client, view]);
  return (
    <SessionContext value={shared}>
      <UserContext value={view.state.greeting?.user}>{children}</UserContext>
    </SessionContext>
  );
}

export function useSession(): Shared {
  const shared = useContext(SessionContext);
  if (!shared) throw new Error("useSession is for components inside SessionProvider");
  return shared;
}

/** True where the gateway says that this message would be accepted now. */
export function useCan(): (type: CommandType) => boolean {
  const { state } = useSession();
  return useCallback((type) => !!state.snapshot?.can.includes(type), [state.snapshot]);
}

export interface Act {
  send(command: Command): void;
  /** Sent, and neither recorded nor refused yet. */
  busy: boolean;
  error: Notice | null;
}

/** A control's own command: whether it is under way, and why it was refused. */
export function useAct(): Act {
  const { client, pending, state } = useSession();
  const [id, setId] = useState("");
  return {
    send: (command) => setId(client.send(command)),
    busy: pending.some((one) => one.id === id),
    error: (id && state.notices.find((notice) => notice.replyTo === id)) || null,
  };
}

export interface Acts {
  send(commands: readonly Command[]): void;
  busy: boolean;
  errors: readonly Notice[];
}

/** Several commands of one control: whether any of them is under way, and why some were refused. */
export function useActs(): Acts {
  const { client, pending, state } = useSession();
  const [ids, setIds] = useState<readonly string[]>([]);
  return {
    send: (commands) => setIds(commands.map((command) => client.send(command))),
    busy: pending.some((one) => ids.includes(one.id)),
    errors: state.notices.filter(({ replyTo }) => replyTo && ids.includes(replyTo)),
  };
}

/** "You", a colleague's name, or the service's. */
export function useNameOf(): (actor: string) => string {
  const user = useContext(UserContext);
  return useCallback((actor) => (actor === `user:${user}` ? JOURNAL.you : actor.replace(/^user:/, "").replace("_", " ")), [user]);
}
