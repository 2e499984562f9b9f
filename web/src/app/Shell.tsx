// The frame: sessions at the left (a drawer on phones), the conversation in the middle, the composer below it.
import { Drawer } from "@mantine/core";
import { useDisclosure, useMediaQuery } from "@mantine/hooks";
import { useState } from "react";
import { SIGNS } from "../generated/words";
import { useSearchKey } from "../ui/hooks";
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
  const [searching, setSearching] = useState(0);
  useSearchKey(() => {
    if (wide) fold.close();
    else drawer.open();
    setSearching((times) => times + 1);
  });
  const closeDrawer = () => {
    drawer.close();
    setSearching(0); // opened by its button it does not bring up a phone's keyboard
  };
  const list = (
    <SessionList
      onNew={() => {
        closeDrawer();
        onNew();
      }}
      onChosen={closeDrawer}
      searching={searching}
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
        <Drawer opened={opened} onClose={closeDrawer} title={SIGNS.sessions} size={300} padding="sm" closeButtonProps={{ "aria-label": SIGNS.close_sessions }}>
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
