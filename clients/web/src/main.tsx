import { signIn } from "./session/answer.js"; // first: see there
import "./styles/base.css";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createAppRouter } from "./shell/router.js";
import { SessionProvider } from "./session/session.js";
import { startTheme } from "./ui/theme.js";

startTheme();
const root = document.getElementById("root");
if (!root) throw new Error("the page has no element #root");
createRoot(root).render(
  <StrictMode>
    <SessionProvider signIn={signIn}>
      <RouterProvider router={createAppRouter()} />
    </SessionProvider>
  </StrictMode>,
);
