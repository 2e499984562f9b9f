// The frame: sessions at the left (a drawer on phones), the conversation in the middle, the composer below it.
import { Drawer } from "@mantine/core";
import { useDisclosure, useMediaQuery } from "@mantine/hooks";
import { SIGNS } from "../generated/words";
import { Notices } from "../ui/Notices";
import { Conversation } from "./Conversation";
import { Footer } from "./Footer";
import { Header } from "./Header";
import { SessionList } from "./SessionList";
import { Shortcuts } from "./Shortcuts";

export function Shell({ onNew }: { onNew: () => void }) {
  const wide = useMediaQuery("(min-width: 60em)", true, { getInitialValueInEffect: false });
  const [folded, fold] = useDisclosure(false);
  const [opened, drawer] = useDisclosure(false);
  const list = (
    <SessionList
      onNew={() => {
        drawer.close();
        onNew();
      }}
      onChosen={drawer.close}
    />
  );
  return (
    <div className="shell" data-folded={folded || !wide || undefined}>
      <a className="skip-link" href="#composer">
        {SIGNS.skip_link}
      </a>
      {wide && !folded && (
        <nav className="sidebar" aria-label={SIGNS.sessions}>
          {list}
        </nav>
      )}
      {!wide && (
        <Drawer opened={opened} onClose={drawer.close} title={SIGNS.sessions} size={300} padding="sm" closeButtonProps={{ "aria-label": SIGNS.close_sessions }}>
          {list}
        </Drawer>
      )}
      <div className="column">
        <Header onMenu={wide ? fold.toggle : drawer.toggle} menuOpen={wide ? !folded : opened} />
        <Conversation />
        <Footer />
      </div>
      <Notices />
      <Shortcuts />
    </div>
  );
}
