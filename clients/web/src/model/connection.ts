import type { ConnectionState, Freshness } from "@kubeconnect/client";

/** What the page is connected to, as one state. */
export type Health =
  | { readonly is: "connecting" | "catchingUp" | "signedOut" | "paused" }
  | LiveHealth
  | { readonly is: "stale"; readonly since: Date | undefined }
  | { readonly is: "lost"; readonly since: Date; readonly retryAt: number | undefined }
  | { readonly is: "failed"; readonly message: string };

export interface LiveHealth {
  readonly is: "live";
  /** The replica of the service that serves the stream. */
  readonly replica?: string | undefined;
  /** The replica that has served until the connection was lost, if it is another one. */
  readonly previous?: string | undefined;
}

/** What is known about the stream of all live data. */
export interface StreamState {
  readonly connection: ConnectionState | undefined;
  readonly freshness: Freshness | undefined;
  /** Whether there is a snapshot. */
  readonly loaded: boolean;
  readonly error: Error | undefined;
  /** The time of the next attempt after a failure. */
  readonly retryAt: number | undefined;
  readonly isSignedOut: boolean;
  readonly isPaused: boolean;
}

/** Returns the state that matters most. */
export function healthOf(state: StreamState): Health {
  const { connection, freshness, loaded, error, retryAt } = state;
  if (state.isSignedOut) return { is: "signedOut" };
  if (state.isPaused) return { is: "paused" };
  if (error) return { is: "failed", message: error.message };
  if (connection?.state === "lost") return { is: "lost", since: connection.since, retryAt };
  if (connection?.state !== "connected") return { is: "connecting" };
  if (freshness?.stale) return { is: "stale", since: freshness.lastContactTime };
  return { is: loaded ? "live" : "catchingUp" };
}

/** Returns the short text of the state. It changes with the state only, and not every second. */
export function healthText(health: Health): string {
  switch (health.is) {
    case "connecting":
      return "Connecting";
    case "catchingUp":
      return "Catching up";
    case "live":
      return health.previous === undefined ? "Live" : "Live, replica changed";
    case "signedOut":
      return "Signed out";
    case "paused":
      return "Paused";
    case "stale":
      return health.since ? `Stale since ${timeOfDay(health.since)}` : "Stale";
    case "lost":
      return `Disconnected since ${timeOfDay(health.since)}`;
    case "failed":
      return "No live data";
  }
}

/** Returns what the state means, and what happens next. */
export function healthDetail(health: Health, now: number): string {
  switch (health.is) {
    case "connecting":
      return "The page opens its stream.";
    case "catchingUp":
      return "The service has not sent the complete state yet.";
    case "live":
      return `Changes are shown as they happen.${servedBy(health)}`;
    case "signedOut":
      return "The token has expired. Sign in again to continue.";
    case "paused":
      return "The tab was hidden. It continues when it is shown.";
    case "stale":
      return "The service does not reach the API server. What you see may be outdated.";
    case "lost":
      return `The service is unreachable. ${retryText(health.retryAt, now)}`;
    case "failed":
      return health.message;
  }
}

function servedBy({ replica, previous }: LiveHealth): string {
  if (replica === undefined) return "";
  return ` Served by ${replica}${previous === undefined ? "" : `, before by ${previous}`}.`;
}

function retryText(retryAt: number | undefined, now: number): string {
  const seconds = retryAt === undefined ? 0 : Math.ceil((retryAt - now) / 1000);
  return seconds > 0 ? `Retrying in ${seconds} s.` : "Retrying now.";
}

function timeOfDay(date: Date): string {
  return date.toLocaleTimeString([], { hour12: false });
}
