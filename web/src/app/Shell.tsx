// The layout: sessions on the left (a drawer on phones), the conversation in the middle, the composer below.
import { Drawer } from "@mantine/core";
import { useDisclosure, useMediaQuery } from "@mantine/hooks";
import { useState } from "react";
import { SIGNS } from "../words";
import { useSearchKey } from "../ui/hooks";
import { Notices } from "../ui/Notices";
import { Conversation } from "./Conversation";
import { Footer } from "./Footer";
import { Header } from "./Header";
import { SessionList } from "./SessionList";
import { Shortcuts } from "./Shortcuts";
import styles from "./Shell.module.css";

export function Shell({ onNew }: { onNew: () => void }) {
  const isWide = useMediaQuery("(min-width: 60em)", true, { getInitialValueInEffect: false });
  const [isCollapsed, sidebar] = useDisclosure(false);
  const [isDrawerOpen, drawer] = useDisclosure(false);
  const [searchRequests, setSearchRequests] = useState(0);
  useSearchKey(() => {
    if (isWide) sidebar.close();
    else drawer.open();
    setSearchRequests((times) => times + 1);
  });
  const closeDrawer = () => {
    drawer.close();
    setSearchRequests(0); // opening the drawer with its button must not bring up a phone's keyboard
  };
  const list = (
    <SessionList
      onNew={() => {
        closeDrawer();
        onNew();
      }}
      onSelect={closeDrawer}
      searchRequests={searchRequests}
    />
  );
  return (
    <div className={styles.shell} data-collapsed={isCollapsed || !isWide || undefined}>
      <a className={styles.skipLink} href="#composer">
        {SIGNS.skip_link}
      </a>
      {isWide && !isCollapsed && (
        <nav className={styles.sidebar} aria-label={SIGNS.sessions}>
          {list}
        </nav>
      )}
      {!isWide && (
        <Drawer opened={isDrawerOpen} onClose={closeDrawer} title={SIGNS.sessions} size={300} padding="sm" closeButtonProps={{ "aria-label": SIGNS.close_sessions }}>
          {list}
        </Drawer>
      )}
      <div className={styles.column}>
        <Header onMenu={isWide ? sidebar.toggle : drawer.toggle} menuOpen={isWide ? !isCollapsed : isDrawerOpen} />
        <Conversation />
        <Footer />
      </div>
      <Notices />
      <Shortcuts />
    </div>
  );
}
