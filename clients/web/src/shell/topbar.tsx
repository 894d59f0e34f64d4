import { useLocation, useRouter } from "@tanstack/react-router";
import { Fragment } from "react";
import { breadcrumbs, type Crumb } from "../model/breadcrumbs.js";
import { healthDetail, healthText, type Health } from "../model/connection.js";
import { labelOf, useCatalog } from "../session/catalog.js";
import { useHealth } from "../session/connection.js";
import { useNow } from "../ui/age.js";
import { Button } from "../ui/button.js";
import { NamespaceSwitch } from "./namespaceswitch.js";
import styles from "./shell.module.css";
import { UserMenu } from "./usermenu.js";

interface Props {
  readonly isMenuOpen: boolean;
  readonly onMenu: () => void;
  readonly onPalette: () => void;
  readonly onHelp: () => void;
}

/** Where the user is, what the page is connected to, and who the user is. */
export function TopBar({ isMenuOpen, onMenu, onPalette, onHelp }: Props) {
  return (
    <header className={styles.topbar}>
      <Button
        look="quiet"
        className={styles.menuButton}
        aria-expanded={isMenuOpen}
        aria-controls="sidebar"
        aria-label="Resources"
        onClick={onMenu}
      >
        ☰
      </Button>
      <Breadcrumbs />
      <span className={styles.grow} />
      <ConnectionState />
      <NamespaceSwitch />
      <Button onClick={onPalette} aria-haspopup="dialog" className={styles.goTo}>
        Go to… <kbd>Ctrl K</kbd>
      </Button>
      <UserMenu onHelp={onHelp} />
    </header>
  );
}

function Breadcrumbs() {
  const pathname = useLocation({ select: (location) => location.pathname });
  const catalog = useCatalog();
  const crumbs = breadcrumbs(pathname, (resource) => labelOf(catalog, resource));
  return (
    <nav className={styles.crumbs} aria-label="Breadcrumbs">
      <ol>
        {crumbs.map((crumb, index) => (
          <Fragment key={index}>
            {index > 0 && (
              <li aria-hidden="true" className={styles.dim}>
                /
              </li>
            )}
            <li>
              <CrumbText crumb={crumb} />
            </li>
          </Fragment>
        ))}
      </ol>
    </nav>
  );
}

function CrumbText({ crumb: { label, href } }: { readonly crumb: Crumb }) {
  if (href) return <AppLink href={href}>{label}</AppLink>;
  return (
    <span aria-current="page" title={label}>
      {label}
    </span>
  );
}

/** A link to an address of the page that is made at run time. */
function AppLink({ href, children }: { readonly href: string; readonly children: string }) {
  const router = useRouter();
  return (
    <a
      href={href}
      onClick={(event) => {
        const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
        if (!isPlain) return;
        event.preventDefault();
        router.history.push(href);
      }}
    >
      {children}
    </a>
  );
}

/** Shows the state of the connection, and says it to screen readers when it changes. */
function ConnectionState() {
  const health = useHealth();
  return (
    <span className={styles.health} data-is={health.is}>
      <span className={styles.healthDot} aria-hidden="true" />
      <span role="status">{healthText(health)}</span>
      <HealthHint health={health} />
    </span>
  );
}

/** What the state means. It counts down, so it is not in the status that is announced. */
function HealthHint({ health }: { readonly health: Health }) {
  const now = useNow();
  const detail = healthDetail(health, now);
  return (
    <span className={styles.healthHint} data-always={health.is === "lost" || undefined}>
      {detail}
    </span>
  );
}
