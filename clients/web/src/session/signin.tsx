import { useEffect, useId, useRef, useState } from "react";
import { Button } from "../ui/button.js";
import ui from "../ui/ui.module.css";
import type { Grant } from "./credentials.js";
import { hostOf, loadIssuer, type Issuer } from "./issuer.js";
import styles from "./signin.module.css";

interface Props {
  /** Why the token is not accepted. */
  readonly error?: string | undefined;
  /** Why the sign-in with the issuer has failed. */
  readonly issuerError?: string | undefined;
  readonly onToken: (token: string) => Promise<void>;
  /** The user whose token has expired: the views remain below the form. */
  readonly again?: string;
  /** The issuer that the user has not signed out of. */
  readonly signOutOfIssuer?: Grant["signOut"];
}

/** Asks for a sign-in: as the whole page, or over the views when a token has expired. */
export function SignIn(props: Props) {
  const issuer = useIssuer();
  if (issuer === "loading") return null;
  if (props.again !== undefined) return <SignInAgain {...props} issuer={issuer} />;
  return (
    <main className={styles.signIn}>
      <SignInForm {...props} issuer={issuer} />
    </main>
  );
}

/** Returns the issuer that users can sign in with. If it cannot be loaded, only tokens remain. */
function useIssuer(): Issuer | undefined | "loading" {
  const [issuer, setIssuer] = useState<Issuer | undefined | "loading">("loading");
  useEffect(() => {
    loadIssuer().then(setIssuer, () => {
      setIssuer(undefined);
    });
  }, []);
  return issuer;
}

interface FormProps extends Props {
  readonly issuer: Issuer | undefined;
}

function SignInAgain(props: FormProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={styles.signInAgain}
      aria-label="Sign in again"
      onCancel={(event) => {
        event.preventDefault();
      }}
    >
      <SignInForm {...props} />
    </dialog>
  );
}

function SignInForm({ issuer, again, error, issuerError, onToken, signOutOfIssuer }: FormProps) {
  return (
    <div className={styles.signInForm}>
      <h1>{again === undefined ? "Sign in" : "Sign in again"}</h1>
      <p>
        {again === undefined
          ? "The service needs to know who you are. Your permissions in the cluster apply."
          : `The token of ${again} has expired. The page continues where it was.`}
      </p>
      {signOutOfIssuer && <SignedOutHere {...signOutOfIssuer} />}
      {issuer && <IssuerButton issuer={issuer} failure={issuerError} />}
      {issuer && <p className={styles.or}>or</p>}
      {!issuer && issuerError && <Alert>{issuerError}</Alert>}
      <TokenForm error={error} onToken={onToken} isFirst={!issuer} />
    </div>
  );
}

function Alert({ children }: { readonly children: string }) {
  return (
    <p role="alert" className={styles.signInError}>
      {children}
    </p>
  );
}

function SignedOutHere({ host, address }: NonNullable<Grant["signOut"]>) {
  return (
    <>
      <p role="status">You are signed out of the console, but not of {host}.</p>
      <a href={address}>Sign out of {host}</a>
    </>
  );
}

interface IssuerProps {
  readonly issuer: Issuer;
  /** Why the last sign-in has failed. */
  readonly failure: string | undefined;
}

/** Redirects to the issuer. Its library is loaded only for this. */
function IssuerButton({ issuer, failure }: IssuerProps) {
  const [error, setError] = useState<string>();
  const [isLeaving, setLeaving] = useState(false);
  const leave = async (): Promise<void> => {
    setError("");
    setLeaving(true);
    try {
      const { beginSignIn } = await import("./oidc.js");
      await beginSignIn(issuer);
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown.message : String(thrown));
    }
    setLeaving(false); // also for a user who comes back by the browser's button
  };
  return (
    <>
      <Button look="primary" autoFocus disabled={isLeaving} onClick={() => void leave()}>
        Sign in with {hostOf(issuer)}
      </Button>
      {(error ?? failure) && <Alert>{error ?? failure ?? ""}</Alert>}
    </>
  );
}

interface TokenProps {
  readonly error: string | undefined;
  readonly onToken: (token: string) => Promise<void>;
  /** Whether there is no other way to sign in. */
  readonly isFirst: boolean;
}

function TokenForm({ error, onToken, isFirst }: TokenProps) {
  const [token, setToken] = useState("");
  const [checking, setChecking] = useState(false);
  const id = useId();
  return (
    <form
      className={styles.tokenForm}
      onSubmit={(event) => {
        event.preventDefault();
        setChecking(true);
        void onToken(token.trim()).finally(() => {
          setChecking(false);
        });
      }}
    >
      <label htmlFor={id}>Bearer token</label>
      <input
        id={id}
        className={ui.field}
        type="password"
        autoComplete="off"
        autoFocus={isFirst}
        required
        value={token}
        aria-invalid={error !== undefined}
        onChange={(event) => {
          setToken(event.target.value);
        }}
      />
      {error && <Alert>{error}</Alert>}
      <p className={styles.dim}>
        For example of <code>kubectl create token ACCOUNT</code>. It stays in this tab&apos;s memory
        and is sent to this service only.
      </p>
      <Button
        look={isFirst ? "primary" : undefined}
        type="submit"
        disabled={checking || token.trim() === ""}
      >
        {checking ? "Signing in…" : "Sign in"}
      </Button>
    </form>
  );
}
