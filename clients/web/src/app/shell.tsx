import { Outlet } from "@tanstack/react-router";
import { Suspense } from "react";
import styles from "./app.module.css";
import { Sidebar } from "./sidebar.js";
import { TopBar } from "./topbar.js";

/** The frame of all views: the sidebar, the top bar, and the view of the address. */
export function Shell() {
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#view">
        Skip to the content
      </a>
      <Sidebar />
      <div className={styles.main}>
        <TopBar />
        <main id="view" className={styles.view} tabIndex={-1}>
          <Suspense fallback={null}>
            <Outlet />
          </Suspense>
        </main>
      </div>
    </div>
  );
}
