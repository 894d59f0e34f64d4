import { useEffect, useId, useRef, useState } from "react";
import { Button } from "../ui/button.js";
import ui from "../ui/ui.module.css";
import styles from "./app.module.css";

interface Props {
  readonly error: string | undefined;
  readonly onToken: (token: string) => Promise<void>;
  /** The user whose token has expired: the views remain below the form. */
  readonly again?: string;
}

/** Asks for a bearer token: as the whole page, or over the views when a token has expired. */
export function SignIn({ again, ...form }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  if (again === undefined) {
    return (
      <main className={styles.signIn}>
        <SignInForm {...form} />
      </main>
    );
  }
  return (
    <dialog
      ref={dialog}
      className={styles.signInAgain}
      aria-label="Sign in again"
      onCancel={(event) => {
        event.preventDefault();
      }}
    >
      <SignInForm again={again} {...form} />
    </dialog>
  );
}

function SignInForm({ error, onToken, again }: Props) {
  const [token, setToken] = useState("");
  const [checking, setChecking] = useState(false);
  const id = useId();
  return (
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
      <h1>{again === undefined ? "Sign in" : "Sign in again"}</h1>
      <p>
        {again === undefined
          ? "The service needs to know who you are. Your permissions in the cluster apply."
          : `The token of ${again} has expired. The page continues where it was.`}
      </p>
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
        For example of <code>kubectl create token ACCOUNT</code>. It stays in this tab&apos;s memory
        and is sent to this service only.
      </p>
      <Button look="primary" type="submit" disabled={checking || token.trim() === ""}>
        {checking ? "Signing in…" : "Sign in"}
      </Button>
    </form>
  );
}
