import { useLocation } from "@tanstack/react-router";
import { Fragment } from "react";
import { breadcrumbs, type Crumb } from "../model/breadcrumbs.js";
import { Button } from "../ui/button.js";
import styles from "./shell.module.css";
import { labelOf, useCatalog } from "../session/catalog.js";
import { ConnectionState } from "../session/connection.js";
import { AppLink } from "./link.js";
import { NamespaceSwitch } from "./namespaceswitch.js";
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
