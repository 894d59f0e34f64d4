import { Button } from "../ui/button.js";
import styles from "./app.module.css";
import { useSession } from "./session.js";
import { setTheme, useTheme, type Theme } from "./theme.js";

const nextTheme: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

/** Where the user is, what the page is connected to, and who the user is. */
export function TopBar() {
  const { identity, signOut } = useSession();
  const theme = useTheme();
  return (
    <header className={styles.topbar}>
      <span className={styles.grow} />
      <Button
        look="quiet"
        onClick={() => {
          setTheme(nextTheme[theme]);
        }}
      >
        Theme: {theme}
      </Button>
      <span className={styles.dim}>{identity.username}</span>
      <Button look="quiet" onClick={signOut}>
        Sign out
      </Button>
    </header>
  );
}
