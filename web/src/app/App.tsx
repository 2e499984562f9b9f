// The root component: selects the session on the screen, or asks the user to log in.
import { useEffect, useState, useSyncExternalStore } from "react";
import { SessionClient, type SessionView } from "../net/client";
import { emptyState } from "../state/state";
import { LoginRequired } from "./LoginRequired";
import { navigate, useRoute } from "./route";
import { SessionProvider } from "./sessionContext";
import { Shell } from "./Shell";

/** A session on the screen. When a new conversation gets its id, `route` is set in place, so that the client stays. */
interface Visit {
  route: string | null;
}

export function App() {
  const route = useRoute();
  const [visit, setVisit] = useState<Visit>({ route });
  const [client, setClient] = useState<SessionClient | null>(null);
  if (visit.route !== route) setVisit({ route });

  useEffect(() => {
    const next = new SessionClient(visit.route, (sessionId) => {
      visit.route = sessionId;
      navigate(sessionId);
    });
    setClient(next);
    return () => next.close();
  }, [visit]);

  const startNew = () => (route === null ? setVisit({ route }) : navigate(null));
  return client ? <SessionScreen key={client.key} client={client} onNew={startNew} /> : null;
}

const EMPTY_VIEW: SessionView = { state: emptyState(null), connection: "connecting", pending: [], sent: 0 };

function SessionScreen({ client, onNew }: { client: SessionClient; onNew: () => void }) {
  const view = useSyncExternalStore(client.subscribe, client.getView, () => EMPTY_VIEW);
  useEffect(() => {
    if (view.state.forkId) navigate(view.state.forkId);
  }, [view.state.forkId]);
  if (view.connection === "denied") return <LoginRequired />;
  return (
    <SessionProvider client={client} view={view}>
      <Shell onNew={onNew} />
    </SessionProvider>
  );
}
