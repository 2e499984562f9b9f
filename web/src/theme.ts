import { createTheme } from "@mantine/core";

const SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, sans-serif";
const MONO = "ui-monospace, 'Cascadia Code', 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace";

export const theme = createTheme({
  primaryColor: "indigo",
  // The same greys as the page's dark background (base.css), so that fields and drawers match it.
  colors: {
    dark: ["#d3d7df", "#b4b9c4", "#8a909e", "#696f7e", "#3d424d", "#33363f", "#272b33", "#1e2127", "#101216", "#0b0c0f"],
  },
  primaryShade: { light: 7, dark: 7 },
  autoContrast: true,
  defaultRadius: "md",
  fontFamily: SANS,
  fontFamilyMonospace: MONO,
  respectReducedMotion: true,
  focusRing: "auto",
});
