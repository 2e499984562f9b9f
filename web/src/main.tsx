import "./global.css";
import "@mantine/core/styles.layer.css";
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
