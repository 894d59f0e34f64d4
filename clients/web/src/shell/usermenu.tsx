import { useEffect, useRef, useState } from "react";
import { useSession } from "../session/session.js";
import { useCanSignOut } from "../session/signout.js";
import { Button } from "../ui/button.js";
import { setTheme, useTheme, type Theme } from "../ui/theme.js";
import styles from "./shell.module.css";

const themes: Readonly<Record<Theme, string>> = { auto: "System", light: "Light", dark: "Dark" };

/** Who the user is, with the settings of the page. */
export function UserMenu({ onHelp }: { readonly onHelp: () => void }) {
  const { identity } = useSession();
  const [isOpen, setOpen] = useState(false);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const onPointerDown = ({ target }: PointerEvent): void => {
      if (target instanceof Node && !element.current?.contains(target)) setOpen(false);
    };
    window.addEventListener("pointerdown", onPointerDown);
    return () => {
      window.removeEventListener("pointerdown", onPointerDown);
    };
  }, [isOpen]);
  return (
    <div
      ref={element}
      className={styles.userMenu}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isOpen) return;
        setOpen(false);
        element.current?.querySelector("button")?.focus();
      }}
    >
      <Button
        look="quiet"
        className={styles.user}
        aria-expanded={isOpen}
        aria-label={`User menu of ${identity.username}`}
        onClick={() => {
          setOpen(!isOpen);
        }}
      >
        <span>{shortName(identity.username)}</span> <span aria-hidden="true">▾</span>
      </Button>
      {isOpen && (
        <UserPanel
          onHelp={() => {
            setOpen(false);
            onHelp();
          }}
        />
      )}
    </div>
  );
}

function UserPanel({ onHelp }: { readonly onHelp: () => void }) {
  const { identity, signOut } = useSession();
  const theme = useTheme();
  const canSignOut = useCanSignOut();
  return (
    <div className={styles.userPanel}>
      <p>
        Signed in as <strong>{identity.username}</strong>
      </p>
      {identity.groups.length > 0 && (
        <ul className={styles.groups} aria-label="Groups">
          {identity.groups.map((group) => (
            <li key={group}>{group}</li>
          ))}
        </ul>
      )}
      <fieldset className={styles.themes}>
        <legend>Theme</legend>
        {Object.entries(themes).map(([value, label]) => (
          <label key={value}>
            <input
              type="radio"
              name="theme"
              checked={theme === value}
              onChange={() => {
                setTheme(value as Theme);
              }}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <div className={styles.userButtons}>
        <Button onClick={onHelp}>
          Shortcuts <kbd>?</kbd>
        </Button>
        {canSignOut && <Button onClick={signOut}>Sign out</Button>}
      </div>
    </div>
  );
}

/** Returns the last part of a name: "reader" of "system:serviceaccount:default:reader". */
function shortName(username: string): string {
  return username.split(":").at(-1) || username;
}
