import { signIn } from "./app/answer.js"; // first: see there
import "./styles/base.css";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { router } from "./app/router.js";
import { SessionProvider } from "./app/session.js";
import { startTheme } from "./app/theme.js";

startTheme();
const root = document.getElementById("root");
if (!root) throw new Error("the page has no element #root");
createRoot(root).render(
  <StrictMode>
    <SessionProvider signIn={signIn}>
      <RouterProvider router={router} />
    </SessionProvider>
  </StrictMode>,
);
