import { ConnectError } from "@connectrpc/connect";
import { joined } from "../bytes.js";
import { makeDisposable, type Closing } from "../disposable.js";
import { KubeconnectError, UnauthenticatedError } from "../error.js";
import type { ObjectName } from "../object.js";
import { Lifetime } from "./lifetime.js";
import { PortStream } from "./portstream.js";
import { attachRequest, execRequest, portRequest, type StreamRequest } from "./request.js";
import { ContainerSession, type OutputChunk } from "./session.js";
import type { ContainerSocket, OpenSocket } from "./socket.js";

/** Options of all calls into containers. */
export interface ConnectionOptions {
  /** Cancels the call, or closes what it has opened. Reads then reject with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `exec`. */
export interface ExecOptions extends ConnectionOptions {
  /** The container. Default: the pod's only container. */
  readonly container?: string | undefined;
  /** The input of the command, text as UTF-8. Default: none. */
  readonly stdin?: Uint8Array | string | undefined;
  /**
   * The timeout in milliseconds, after which the call fails with Code.DeadlineExceeded; 0 for no limit.
   * Default: the `timeoutMs` of the client.
   */
  readonly timeoutMs?: number | undefined;
}

/** Options of `attach`, and of `openExec`. */
export interface SessionOptions extends ConnectionOptions {
  /** The container. Default: the pod's only container. */
  readonly container?: string | undefined;
  /** Whether the session has an input. Default: true for `openExec`, false for `attach`. */
  readonly stdin?: boolean | undefined;
  /** Whether the command has a terminal, whose size `resize` sets. Default: false. */
  readonly tty?: boolean | undefined;
  /** The timeout of the session in milliseconds. Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

/** The output and the exit code of a command in a container. */
export interface ExecResult {
  /** What the command has printed to its standard output. */
  readonly stdout: Uint8Array;
  /** What the command has printed to its standard error. */
  readonly stderr: Uint8Array;
  /** 0 if the command has succeeded. */
  readonly exitCode: number;
}

/** What a client of containers is made of. */
export interface ContainersConfig {
  readonly open: OpenSocket;
  /** Returns the token to send; undefined if none is sent. */
  readonly token: (() => Promise<string>) | undefined;
  /** The timeout of `exec`, and of the opening of all connections; 0 for no limit. */
  readonly timeoutMs: number;
}

// eslint-disable-next-line @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unsafe-declaration-merging -- what is added to the prototype below
export interface Containers extends Closing {}

/**
 * Commands in containers, and their ports. The service passes these connections on to the API server as
 * the caller, who needs the permission to create "pods/exec", "pods/attach" or "pods/portforward".
 */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- see above
export class Containers {
  readonly #config: ContainersConfig;
  readonly #closing = new AbortController();

  static {
    makeDisposable(this.prototype);
  }

  /** @internal */
  constructor(config: ContainersConfig) {
    this.#config = config;
  }

  /**
   * Runs a command in a container, and returns its output and its exit code. `command` is the program
   * and its arguments: `["sh", "-c", "ls | wc -l"]` for a shell. All output is kept in memory: use
   * `openExec` for a command that prints much, or that does not end.
   *
   * An exit code other than 0 is no error. Rejects with NotFoundError if the pod does not exist,
   * ForbiddenError, InvalidArgumentError if the pod has no such container, InternalError if the program
   * does not exist or the node is unreachable, and DeadlineExceededError if the command does not end in
   * time. Whether the command is ended then depends on the container runtime.
   */
  async exec(
    pod: ObjectName,
    command: readonly string[],
    options: ExecOptions = {},
  ): Promise<ExecResult> {
    const { container, stdin, timeoutMs = this.#config.timeoutMs } = options;
    const streams = { container, stdin: stdin !== undefined, tty: false };
    const request = execRequest(pod, command, streams);
    const input = typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin;
    const stdout: Uint8Array[] = [];
    const stderr: Uint8Array[] = [];
    const session = await this.#session(request, { ...options, timeoutMs });
    const exitCode = await run(session, input && [input], ({ stream, data }) => {
      (stream === "stdout" ? stdout : stderr).push(data);
    });
    return { stdout: joined(stdout), stderr: joined(stderr), exitCode };
  }

  /**
   * Begins a command in a container whose input and output are streams. Its input remains open until
   * `closeStdin`. Rejects, or the session does, with the errors of `exec`. The session rejects with
   * DeadlineExceededError after `timeoutMs`.
   */
  async openExec(
    pod: ObjectName,
    command: readonly string[],
    options: SessionOptions = {},
  ): Promise<ContainerSession> {
    const { container, stdin = true, tty = false } = options;
    return this.#session(execRequest(pod, command, { container, stdin, tty }), options);
  }

  /**
   * Attaches to the main process of a container: to its output from now on and, with `stdin`, to its
   * input. `stdin` and `tty` require that the container has these. The session ends with the main
   * process, and is otherwise that of `openExec`.
   */
  async attach(pod: ObjectName, options: SessionOptions = {}): Promise<ContainerSession> {
    const { container, stdin = false, tty = false } = options;
    return this.#session(attachRequest(pod, { container, stdin, tty }), options);
  }

  /**
   * Opens one connection to a port of a pod, as a stream in both directions. Rejects with NotFoundError if
   * the pod does not exist, and with ForbiddenError. Its reads reject with UnavailableError if the node
   * cannot connect to the port.
   */
  async openPort(
    pod: ObjectName,
    port: number,
    { signal }: ConnectionOptions = {},
  ): Promise<PortStream> {
    const request = portRequest(pod, port);
    return this.#open(request, new Lifetime([signal, this.closing], 0, ""), (socket, lifetime) => {
      return new PortStream(socket, port, lifetime);
    });
  }

  /** Closes all sessions and connections. Later calls fail with Code.Canceled. */
  close(): void {
    this.#closing.abort(KubeconnectError.closed());
  }

  /** Aborts when the client is closed. */
  protected get closing(): AbortSignal {
    return this.#closing.signal;
  }

  #session(
    request: StreamRequest,
    { signal, timeoutMs = 0 }: Pick<SessionOptions, "signal" | "timeoutMs">,
  ): Promise<ContainerSession> {
    const lifetime = new Lifetime([signal, this.closing], timeoutMs, "the session ended");
    return this.#open(request, lifetime, (socket) => {
      return new ContainerSession(socket, request, lifetime);
    });
  }

  /** Opens a connection that belongs to a lifetime, within the timeout of the client. */
  async #open<T>(
    request: StreamRequest,
    lifetime: Lifetime,
    use: (socket: ContainerSocket, lifetime: Lifetime) => T,
  ): Promise<T> {
    const event = "the service responded";
    const opening = new Lifetime([lifetime.signal], this.#config.timeoutMs, event);
    try {
      opening.signal.throwIfAborted();
      const socket = await this.#authenticated(request, opening.signal);
      if (lifetime.signal.aborted) socket.close(lifetime.signal.reason);
      lifetime.signal.throwIfAborted();
      return use(socket, lifetime);
    } catch (error) {
      lifetime.end();
      throw error instanceof ConnectError ? KubeconnectError.from(error) : error; // of the token
    } finally {
      opening.end();
    }
  }

  /** A request that is rejected as unauthenticated is sent again if the token is another one by then. */
  async #authenticated(request: StreamRequest, signal: AbortSignal): Promise<ContainerSocket> {
    const { open } = this.#config;
    const token = await this.#config.token?.();
    try {
      return await open(request, { token, signal });
    } catch (error) {
      if (!(error instanceof UnauthenticatedError)) throw error;
      const fresh = await this.#config.token?.();
      if (fresh === token) throw error;
      return open(request, { token: fresh, signal });
    }
  }
}

/**
 * Sends the input of a session, reads its output until it ends, and returns the exit code. An error of
 * the input ends the session.
 */
export async function run(
  session: ContainerSession,
  input: Iterable<Uint8Array> | AsyncIterable<Uint8Array> | undefined,
  output: (chunk: OutputChunk) => void | Promise<void>,
): Promise<number> {
  const feeding = input && feed(session, input);
  try {
    for await (const chunk of session) await output(chunk);
  } finally {
    session.close();
    await feeding;
  }
  return session.exitCode ?? 0;
}

async function feed(
  session: ContainerSession,
  input: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<void> {
  try {
    for await (const data of input) {
      if (session.exitCode !== undefined) return;
      await session.write(data);
    }
    await session.closeStdin();
  } catch (error) {
    session.fail(error); // the reader rejects with the error that was first
  }
}
