import { Code, KubeconnectError, type Client, type Identity } from "@kubeconnect/client";
import type { Containers } from "@kubeconnect/client/containers/web";
import { connect as connectTo, type WebOptions } from "@kubeconnect/client/web";
import { KubeconnectProvider } from "@kubeconnect/client/react";
import {
  createContext,
  useContext,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
  type ReactNode,
} from "react";
import { Credentials, waitForSignIn, type Grant } from "./credentials.js";
import { HiddenTab, pauseWhileHidden } from "./hiddentab.js";
import { Replica } from "./replica.js";
import { SignIn } from "./signin.js";
import app from "./signin.module.css";

/** The signed-in user. The token is only in the memory of the client that sends it. */
export interface Session {
  readonly client: Client;
  readonly identity: Identity;
  /** Whether the token has expired, so that calls wait for another one. */
  readonly isExpired: boolean;
  /** Whether the streams are closed because the tab was hidden for long. */
  readonly isPaused: boolean;
  readonly replica: Replica;
  /** Forgets the token, and asks for another one. */
  readonly signOut: () => void;
  readonly connect: Connect;
  /** Loads and creates a client of the containers, with the token. Needs no `this`. */
  readonly connectContainers: () => Promise<Containers>;
}

/** Creates a client of the service. Without a token, the client sends none. */
export type Connect = (options?: Pick<WebOptions, "token" | "interceptors">) => Client;

const connectToOrigin: Connect = (options) => connectTo(window.location.origin, options);

const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("no session");
  return session;
}

interface SignedIn {
  readonly is: "signedIn";
  /** Another one for each client, so that the views of another user have nothing of the former. */
  readonly id: number;
  readonly client: Client;
  readonly identity: Identity;
  readonly credentials: Credentials;
  readonly signOutOfIssuer: Grant["signOut"];
  readonly replica: Replica;
}

interface SignedOut {
  readonly is: "signedOut";
  /** Why a token is not accepted. */
  readonly error?: string;
  /** Why the sign-in with the issuer has failed. */
  readonly issuerError?: string;
  readonly signOutOfIssuer?: Grant["signOut"];
}

type State = { readonly is: "checking" } | SignedOut | SignedIn;

const tab = new HiddenTab();

/** The number of clients that were opened. */
let opened = 0;

interface ProviderProps {
  /** The sign-in that a redirect of the issuer completes; undefined if there was none. */
  readonly signIn: Promise<Grant> | undefined;
  /** By default, clients of the service that serves the page. Must be the same in each render. */
  readonly connect?: Connect;
  readonly children: ReactNode;
}

/**
 * Renders its children for a signed-in user. Without a token it first asks the service who the
 * caller is: it may authenticate by client certificate, or not at all.
 */
export function SessionProvider({ signIn, connect = connectToOrigin, children }: ProviderProps) {
  const [state, setState] = useState<State>({ is: "checking" });
  useEffect(() => tab.follow(document), []);
  useEffect(() => {
    const leaving = new AbortController();
    start(connect, signIn, leaving.signal).then(setState, () => undefined);
    return () => {
      leaving.abort();
    };
  }, [connect, signIn]);
  if (state.is === "signedIn") {
    return (
      <SignedInSession key={state.id} state={state} setState={setState} connect={connect}>
        {children}
      </SignedInSession>
    );
  }
  if (state.is === "checking") return signIn ? <Completing /> : null;
  return (
    <SignIn
      {...state}
      onToken={async (token) => {
        setState(withReason(await identify(connect, { token })));
      }}
    />
  );
}

function Completing() {
  return (
    <main className={app.signIn}>
      <p role="status">Signing in…</p>
    </main>
  );
}

async function start(
  connect: Connect,
  signIn: Promise<Grant> | undefined,
  signal: AbortSignal,
): Promise<State> {
  if (!signIn) return identify(connect, { token: "" }, signal);
  let grant: Grant;
  try {
    grant = await signIn;
  } catch (error) {
    return { is: "signedOut", issuerError: error instanceof Error ? error.message : String(error) };
  }
  const state = withReason(await identify(connect, grant, signal));
  return state.is === "signedOut" ? { is: "signedOut", issuerError: state.error ?? "" } : state;
}

/** Passes the session to the views, and covers them while the user must sign in again. */
function SignedInSession({
  state,
  setState,
  connect,
  children,
}: {
  readonly state: SignedIn;
  readonly setState: (state: State) => void;
  readonly connect: Connect;
  readonly children: ReactNode;
}) {
  const { client, identity, credentials, replica, signOutOfIssuer } = state;
  const isExpired = useSyncExternalStore(credentials.subscribe, credentials.isExpired);
  const isPaused = useSyncExternalStore(tab.subscribe, tab.isPaused);
  const [error, setError] = useState<string>();
  useEffect(() => credentials.keepRenewed(), [credentials]);
  const session = useMemo(
    () => ({
      client,
      identity,
      isExpired,
      isPaused,
      replica,
      signOut: () => {
        setState({ is: "signedOut", signOutOfIssuer });
      },
      connect,
      connectContainers: () => connectContainers(credentials),
    }),
    [
      client,
      identity,
      credentials,
      isExpired,
      isPaused,
      replica,
      setState,
      signOutOfIssuer,
      connect,
    ],
  );
  const continueWith = async (token: string): Promise<void> => {
    const next = withReason(await identify(connect, { token }));
    setError(next.is === "signedOut" ? next.error : undefined);
    if (next.is !== "signedIn") return;
    const isSame = next.identity.username === identity.username && credentials.token() !== "";
    if (isSame) credentials.renew({ token });
    else setState(next); // the views of another user start from the beginning
  };
  return (
    <SessionContext value={session}>
      <KubeconnectProvider client={client}>{children}</KubeconnectProvider>
      {isExpired && <SignIn again={identity.username} error={error} onToken={continueWith} />}
    </SessionContext>
  );
}

/** Adds the reason why a user with a token is not signed in. */
function withReason(state: State): State {
  if (state.is !== "signedOut") return state;
  return { ...state, error: state.error ?? "The token is not valid." };
}

/** Asks the service who the caller is, until it responds. Without a token it sends none. */
async function identify(connect: Connect, grant: Grant, signal?: AbortSignal): Promise<State> {
  const { token } = grant;
  for (;;) {
    try {
      const client = connect(token === "" ? {} : { token });
      const identity = await client.whoAmI({ signal });
      return { is: "signedIn", identity, ...openClient(connect, grant) };
    } catch (error) {
      signal?.throwIfAborted();
      const failure = KubeconnectError.from(error);
      if (failure.code === Code.Unauthenticated && token === "") return { is: "signedOut" };
      if (failure.code !== Code.Unavailable && failure.code !== Code.DeadlineExceeded) {
        return { is: "signedOut", error: failure.message };
      }
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

/** Creates the client of the views. */
function openClient(connect: Connect, grant: Grant): Omit<SignedIn, "is" | "identity"> {
  const credentials = new Credentials(grant);
  const replica = new Replica();
  const interceptors = [pauseWhileHidden(tab), waitForSignIn(credentials), replica.observe];
  const client = connect({
    interceptors,
    ...(grant.token !== "" && { token: credentials.token }),
  });
  return { id: ++opened, client, credentials, replica, signOutOfIssuer: grant.signOut };
}

async function connectContainers({ token }: Credentials): Promise<Containers> {
  const { connectContainers: connect } = await import("@kubeconnect/client/containers/web");
  return connect(window.location.origin, token() === "" ? {} : { token });
}
