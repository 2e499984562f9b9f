// The page: which session is shown, and whether one may be shown at all.
import { useEffect, useState, useSyncExternalStore } from "react";
import { SessionClient, type View } from "../net/client";
import { emptyState } from "../state/state";
import { Denied } from "./Denied";
import { go, useRoute } from "./route";
import { SessionProvider } from "./session";
import { Shell } from "./Shell";

/** One stay on a session. `route` is set when a new conversation gets its name: the stay goes on. */
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
      go(sessionId);
    });
    setClient(next);
    return () => next.close();
  }, [visit]);

  const begin = () => (route === null ? setVisit({ route }) : go(null));
  return client ? <Page key={client.number} client={client} onNew={begin} /> : null;
}

const nothing: View = { state: emptyState(null), link: "connecting", pending: [] };

function Page({ client, onNew }: { client: SessionClient; onNew: () => void }) {
  const view = useSyncExternalStore(client.subscribe, client.getView, () => nothing);
  useEffect(() => {
    if (view.state.forkId) go(view.state.forkId);
  }, [view.state.forkId]);
  if (view.link === "denied") return <Denied />;
  return (
    <SessionProvider client={client} view={view}>
      <Shell onNew={onNew} />
    </SessionProvider>
  );
}
