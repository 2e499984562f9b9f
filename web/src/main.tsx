import "@mantine/core/styles.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/sessions.css";
import "./styles/conversation.css";
import "./styles/review.css";
import "./styles/turns.css";
import "./styles/flow.css";
import "./styles/result.css";
import "./styles/footer.css";
import "./styles/narrow.css";
import { MantineProvider } from "@mantine/core";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { nonce } from "./nonce";
import { theme } from "./theme";
import { withholdComposing } from "./ui/inputMethod";
import { observeInvisible } from "./ui/invisibleCharacters";
import { LazyBoundary } from "./ui/LazyBoundary";

observeInvisible(document.body);
withholdComposing(window);

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <LazyBoundary>
        <App />
      </LazyBoundary>
    </MantineProvider>
  </StrictMode>,
);
