import { Code } from "@connectrpc/connect";
import { failure, rejected } from "./outcome.js";
import type { StreamRequest } from "./request.js";
import { Inbox, type ContainerSocket, type OpenSocket } from "./socket.js";

/** The beginning of the subprotocol by which a page sends a token. */
const bearerProtocol = "base64url.bearer.authorization.k8s.io.";

/** The number of unread bytes at which a connection is closed: this API cannot stop the sender. */
const maxUnreadBytes = 16 * 1024 * 1024;

/** The number of unsent bytes at which a writer waits. */
const maxUnsentBytes = 1024 * 1024;

/** The interval in which a waiting writer looks again, in milliseconds: there is no event for it. */
const unsentInterval = 10;

/** Opens connections by the WebSocket of browsers, Deno, Bun and Node.js 22. */
export function webSockets(baseUrl: string): OpenSocket {
  return async (request, { token, signal }) => {
    const { WebSocket: Known } = globalThis as { WebSocket?: typeof WebSocket };
    if (!Known) throw new Error("this runtime has no WebSocket: Node.js has it since version 22");
    signal.throwIfAborted();
    const bearer = token === undefined ? [] : [bearerProtocol + base64url(token)];
    const url = baseUrl.replace(/^http/, "ws") + request.path;
    const socket = new Known(url, [request.protocol, ...bearer]);
    socket.binaryType = "arraybuffer";
    const opened = new WebSocketSocket(socket);
    if (!(await isOpened(socket, signal))) throw await reasonOf(baseUrl, request, token, signal);
    if (socket.protocol === request.protocol) return opened;
    opened.close(undefined);
    throw unsupported(baseUrl, request);
  };
}

/** Returns the error for a server that does not use the protocol of a request. */
export function unsupported(baseUrl: string, { protocol }: StreamRequest): Error {
  const message = `the server at ${baseUrl} does not support the protocol ${protocol}`;
  return failure(Code.Unimplemented, message);
}

class WebSocketSocket implements ContainerSocket {
  readonly requestId = "";
  readonly #socket: WebSocket;
  readonly #inbox = new Inbox();

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }: MessageEvent<ArrayBuffer | string>) => {
      this.#receive(
        typeof data === "string" ? new TextEncoder().encode(data) : new Uint8Array(data),
      );
    });
    socket.addEventListener("close", ({ code, reason }) => {
      this.#inbox.closedByPeer(code, reason);
    });
  }

  async send(message: Uint8Array): Promise<boolean> {
    while (!this.#inbox.end && this.#socket.bufferedAmount > maxUnsentBytes) {
      await new Promise((resolve) => setTimeout(resolve, unsentInterval));
    }
    const { end } = this.#inbox;
    if (end) {
      if (end.isFinished) return false;
      throw end.error;
    }
    this.#socket.send(message as Uint8Array<ArrayBuffer>);
    return true;
  }

  receive(): Promise<Uint8Array | undefined> {
    return this.#inbox.next();
  }

  close(reason: unknown): void {
    if (this.#inbox.close(reason)) this.#socket.close(1000);
  }

  #receive(message: Uint8Array): void {
    this.#inbox.add(message);
    if (this.#inbox.bytes <= maxUnreadBytes) return;
    const size = `${maxUnreadBytes / 1024 / 1024} MiB`;
    this.close(failure(Code.ResourceExhausted, `more than ${size} were received and not read`));
  }
}

/** Waits until a WebSocket is open or has failed, and returns whether it is open. */
function isOpened(socket: WebSocket, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      socket.close();
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as fetch does
      reject(signal.reason);
    };
    const settle = (isOpen: boolean) => () => {
      signal.removeEventListener("abort", abort);
      resolve(isOpen);
    };
    signal.addEventListener("abort", abort, { once: true });
    socket.addEventListener("open", settle(true), { once: true });
    socket.addEventListener("error", settle(false), { once: true });
    socket.addEventListener("close", settle(false), { once: true });
  });
}

/**
 * Returns why a WebSocket could not be opened, which this API does not report. The same request without
 * the upgrade is rejected in the same way, and runs nothing: an API server that would accept it
 * requires the upgrade.
 */
async function reasonOf(
  baseUrl: string,
  { path }: StreamRequest,
  token: string | undefined,
  signal: AbortSignal,
): Promise<Error> {
  const headers = { ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
  try {
    const init: RequestInit = { method: "POST", headers, redirect: "error", signal };
    const response = await fetch(baseUrl + path, init);
    const { status } = response;
    const body = await response.text();
    if (status >= 400 && !/upgrade/i.test(body)) {
      const requestId = response.headers.get("X-Request-Id") ?? "";
      return rejected({ status, body, requestId }, baseUrl);
    }
    return failure(Code.Unavailable, `the server at ${baseUrl} has not opened a WebSocket`);
  } catch (error) {
    signal.throwIfAborted();
    const problem = error instanceof Error ? error.message : String(error);
    return failure(Code.Unavailable, `the service cannot be reached: ${problem}`);
  }
}

function base64url(token: string): string {
  return btoa(token).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
