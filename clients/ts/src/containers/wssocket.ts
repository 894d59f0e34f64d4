import { Code } from "@connectrpc/connect";
import type { WebSocket } from "ws";
import { withTraceContext } from "../tracecontext.js";
import { failure, rejected, type Rejection } from "./outcome.js";
import type { StreamRequest } from "./request.js";
import { Inbox, LostError, type ContainerSocket, type OpenSocket } from "./socket.js";
import { unsupported } from "./websocket.js";

/** The number of unread bytes at which the connection is paused. */
const maxUnreadBytes = 1024 * 1024;

/** The maximum size of a received message. API servers send at most 32 KiB. */
const maxMessageBytes = 16 * 1024 * 1024;

/** The maximum size of the body of an error. */
const maxBodyBytes = 64 * 1024;

/** The interval of pings in milliseconds, which keep idle connections open in proxies. */
const pingInterval = 20_000;

/** The time in milliseconds that the other side has to reply when a connection is closed. */
const closeTimeout = 2_000;

/** Opens connections by the package "ws". */
export function wsSockets(ws: typeof WebSocket, baseUrl: string, tls: object): OpenSocket {
  return async (request, { token, signal }) => {
    signal.throwIfAborted();
    const headers = Object.fromEntries(new Headers(withTraceContext(undefined)));
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    const socket = new ws(baseUrl.replace(/^http/, "ws") + request.path, [request.protocol], {
      headers,
      ...tls,
      perMessageDeflate: false,
      maxPayload: maxMessageBytes,
    });
    const opened = new WsSocket(socket);
    await untilOpen(socket, signal, request, baseUrl);
    return opened;
  };
}

class WsSocket implements ContainerSocket {
  requestId = "";
  readonly #socket: WebSocket;
  readonly #inbox: Inbox;
  #isSending = false;
  readonly #pings = setInterval(() => {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
  }, pingInterval);

  constructor(socket: WebSocket) {
    this.#pings.unref();
    this.#socket = socket;
    this.#inbox = new Inbox(() => {
      if (socket.isPaused && this.#inbox.bytes < maxUnreadBytes) socket.resume();
    });
    socket.on("upgrade", ({ headers }) => {
      this.requestId = String(headers["x-request-id"] ?? "");
    });
    socket.on("message", (data: Buffer) => {
      this.#inbox.add(data);
      if (this.#inbox.bytes >= maxUnreadBytes) socket.pause();
    });
    socket.on("error", () => undefined); // the event "close" follows
    socket.on("close", (code, reason) => {
      clearInterval(this.#pings);
      this.#inbox.closedByPeer(code, reason.toString());
    });
  }

  async send(message: Uint8Array): Promise<boolean> {
    this.#isSending = true;
    const error = await new Promise<Error | null | undefined>((resolve) => {
      this.#socket.send(message, { binary: true }, resolve);
    });
    this.#isSending = false;
    const { end } = this.#inbox;
    if (end?.isFinished) return false;
    if (end) throw end.error;
    if (error) throw new LostError(error.message);
    return true;
  }

  receive(): Promise<Uint8Array | undefined> {
    return this.#inbox.next();
  }

  close(reason: unknown): void {
    if (!this.#inbox.close(reason)) return;
    clearInterval(this.#pings);
    // The other side may not read, and so not that the connection ends.
    if (this.#isSending) this.#socket.terminate();
    this.#socket.resume();
    this.#socket.close(1000);
    const timer = setTimeout(() => {
      this.#socket.terminate();
    }, closeTimeout);
    timer.unref();
    this.#socket.once("close", () => {
      clearTimeout(timer);
    });
  }
}

/** Waits until a WebSocket is open. Rejects with the error of the service, or with the signal's reason. */
function untilOpen(
  socket: WebSocket,
  signal: AbortSignal,
  request: StreamRequest,
  baseUrl: string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: unknown): void => {
      signal.removeEventListener("abort", abort);
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as fetch does
      if (error !== undefined) reject(error);
      else resolve();
    };
    const abort = (): void => {
      socket.terminate();
      settle(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    socket.once("open", () => {
      if (socket.protocol === request.protocol) settle();
      else {
        socket.terminate();
        settle(unsupported(baseUrl, request));
      }
    });
    socket.once("unexpected-response", (sent, response) => {
      // The request no longer has the connection when the response has been read, and would leave it open.
      const connection = response.socket;
      bodyOf(response).then(
        (body) => {
          const requestId = String(response.headers["x-request-id"] ?? "");
          const rejection: Rejection = { status: response.statusCode ?? 0, body, requestId };
          sent.destroy();
          connection.destroy();
          settle(rejected(rejection, baseUrl));
        },
        (error: unknown) => {
          settle(unreachable(baseUrl, error));
        },
      );
    });
    socket.once("error", (error) => {
      const isProtocol = error.message === "Server sent no subprotocol";
      settle(isProtocol ? unsupported(baseUrl, request) : unreachable(baseUrl, error));
    });
  });
}

async function bodyOf(response: AsyncIterable<unknown>): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response) {
    parts.push(part as Buffer);
    size += (part as Buffer).length;
    if (size > maxBodyBytes) break;
  }
  return Buffer.concat(parts).toString("utf8", 0, maxBodyBytes);
}

function unreachable(baseUrl: string, error: unknown): Error {
  const problem = error instanceof Error ? error.message : String(error);
  return failure(Code.Unavailable, `kubeconnect is unreachable at ${baseUrl}: ${problem}`);
}
