/** The state of the connection to the service. */
export type Connection =
  | { readonly state: "connecting" | "live" }
  /** The reason is the message of the service. */
  | { readonly state: "unauthenticated" | "forbidden"; readonly reason: string }
  /** The service is unreachable; lastMessage is the time of its last message, if there was one. */
  | {
      readonly state: "reconnecting";
      readonly reason: string;
      readonly lastMessage: Date | undefined;
    }
  /** The service is reachable, but the API server is unreachable for it. */
  | { readonly state: "stale"; readonly lastContactTime: Date | undefined };
