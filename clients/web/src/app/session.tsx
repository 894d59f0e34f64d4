import { Code, KubeconnectError, type Client, type Identity } from "@kubeconnect/client";
import { connect } from "@kubeconnect/client/web";
import { KubeconnectProvider } from "@kubeconnect/client/react";
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { SignIn } from "./signin.js";

/** The signed-in user. The token is only in the memory of the client that sends it. */
export interface Session {
  readonly client: Client;
  readonly identity: Identity;
  /** Forgets the token, and asks for another one. */
  readonly signOut: () => void;
}

const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("no session");
  return session;
}

type State =
  | { readonly is: "checking" }
  | { readonly is: "signedOut"; readonly error?: string }
  | { readonly is: "signedIn"; readonly client: Client; readonly identity: Identity };

/**
 * Renders its children for a signed-in user. Without a token it first asks the service who the
 * caller is: it may authenticate by client certificate, or not at all.
 */
export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const [state, setState] = useState<State>({ is: "checking" });
  useEffect(() => {
    const leaving = new AbortController();
    identify(connect(window.location.origin), leaving.signal).then(setState, () => undefined);
    return () => {
      leaving.abort();
    };
  }, []);
  const session = useMemo(
    () =>
      state.is === "signedIn"
        ? {
            ...state,
            signOut: () => {
              setState({ is: "signedOut" });
            },
          }
        : undefined,
    [state],
  );
  if (session) {
    return (
      <SessionContext value={session}>
        <KubeconnectProvider client={session.client}>{children}</KubeconnectProvider>
      </SessionContext>
    );
  }
  if (state.is === "checking") return null;
  return (
    <SignIn
      error={state.is === "signedOut" ? state.error : undefined}
      onToken={async (token) => {
        const next = await identify(connect(window.location.origin, { token }));
        setState(
          next.is === "signedOut"
            ? { ...next, error: next.error ?? "The token is not valid." }
            : next,
        );
      }}
    />
  );
}

/** Asks the service who the caller is, until it responds. */
async function identify(client: Client, signal?: AbortSignal): Promise<State> {
  for (;;) {
    try {
      return { is: "signedIn", client, identity: await client.whoAmI({ signal }) };
    } catch (error) {
      signal?.throwIfAborted();
      const failure = KubeconnectError.from(error);
      if (failure.code === Code.Unauthenticated) return { is: "signedOut" };
      if (failure.code !== Code.Unavailable && failure.code !== Code.DeadlineExceeded) {
        return { is: "signedOut", error: failure.message };
      }
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}
