import { useId, useState } from "react";
import { Button } from "../ui/button.js";
import ui from "../ui/ui.module.css";
import styles from "./app.module.css";

/** The page that asks for a bearer token. */
export function SignIn({
  error,
  onToken,
}: {
  readonly error: string | undefined;
  readonly onToken: (token: string) => Promise<void>;
}) {
  const [token, setToken] = useState("");
  const [checking, setChecking] = useState(false);
  const id = useId();
  return (
    <main className={styles.signIn}>
      <form
        className={styles.signInForm}
        onSubmit={(event) => {
          event.preventDefault();
          setChecking(true);
          void onToken(token.trim()).finally(() => {
            setChecking(false);
          });
        }}
      >
        <h1>Sign in</h1>
        <p>The service needs to know who you are. Your permissions in the cluster apply.</p>
        <label htmlFor={id}>Bearer token</label>
        <input
          id={id}
          className={ui.field}
          type="password"
          autoComplete="off"
          autoFocus
          required
          value={token}
          aria-invalid={error !== undefined}
          onChange={(event) => {
            setToken(event.target.value);
          }}
        />
        {error && (
          <p role="alert" className={styles.signInError}>
            {error}
          </p>
        )}
        <p className={styles.dim}>
          For example of <code>kubectl create token ACCOUNT</code>. It stays in this tab&apos;s
          memory and is sent to this service only.
        </p>
        <Button look="primary" type="submit" disabled={checking || token.trim() === ""}>
          {checking ? "Signing in…" : "Sign in"}
        </Button>
      </form>
    </main>
  );
}
