import { Outlet, useNavigate, useRouter } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useState } from "react";
import { Palette } from "../palette/palette.js"; // loaded at once: typed text must not be lost
import { CatalogProvider } from "../session/catalog.js";
import { HealthProvider } from "../session/connection.js";
import styles from "./shell.module.css";
import { useShortcuts } from "./shortcuts.js";
import { Sidebar } from "./sidebar.js";
import { TopBar } from "./topbar.js";

const Help = lazy(async () => ({ default: (await import("./help.js")).Help }));

/** What is open over the view. */
type Overlay = "palette" | "help" | undefined;

/** The frame of all views: the sidebar, the top bar, and the view of the address. */
export function Shell() {
  return (
    <CatalogProvider>
      <HealthProvider>
        <Frame />
      </HealthProvider>
    </CatalogProvider>
  );
}

function Frame() {
  const [overlay, setOverlay] = useState<Overlay>();
  const [isDrawerOpen, setDrawerOpen] = useDrawer();
  const openPalette = useCallback(() => {
    setOverlay("palette");
  }, []);
  const openHelp = useCallback(() => {
    setOverlay("help");
  }, []);
  const close = useCallback(() => {
    setOverlay(undefined);
  }, []);
  useShortcuts({ openPalette, openHelp, go: useGo() });
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#view">
        Skip to the content
      </a>
      <Sidebar isOpen={isDrawerOpen} />
      {isDrawerOpen && (
        <div
          className={styles.backdrop}
          onClick={() => {
            setDrawerOpen(false);
          }}
        />
      )}
      <div className={styles.main}>
        <TopBar
          isMenuOpen={isDrawerOpen}
          onMenu={() => {
            setDrawerOpen(!isDrawerOpen);
          }}
          onPalette={openPalette}
          onHelp={openHelp}
        />
        <main id="view" className={styles.view} tabIndex={-1}>
          <Suspense fallback={null}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      {overlay === "palette" && <Palette onClose={close} onHelp={openHelp} />}
      <Suspense fallback={null}>{overlay === "help" && <Help onClose={close} />}</Suspense>
    </div>
  );
}

/** The sidebar of small screens, which closes when another view is shown, and by Escape. */
function useDrawer(): readonly [boolean, (isOpen: boolean) => void] {
  const [isOpen, setOpen] = useState(false);
  const router = useRouter();
  useEffect(() => {
    if (!isOpen) return;
    const close = (): void => {
      setOpen(false);
    };
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      close();
      document.querySelector<HTMLElement>("[aria-controls=sidebar]")?.focus();
    };
    const unsubscribe = router.subscribe("onResolved", close);
    window.addEventListener("keydown", onKeyDown);
    return () => {
      unsubscribe();
      window.removeEventListener("keydown", onKeyDown);
    };
  }, [isOpen, router]);
  return [isOpen, setOpen];
}

/** Returns a function that goes to the table of a resource; to the overview if it is empty. */
function useGo(): (resource: string) => void {
  const navigate = useNavigate();
  return useCallback(
    (resource) => {
      void (resource === ""
        ? navigate({ to: "/" })
        : navigate({ to: "/r/$resource", params: { resource } }));
    },
    [navigate],
  );
}
