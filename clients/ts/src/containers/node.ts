/**
 * Commands in containers, their ports and files, in Node.js, Deno and Bun. Node.js before version 22
 * needs the package "ws", which all of them use if it is installed: only with it, an error has the ID of
 * its request, connections can have certificates, and output that is not read stops the sender. The
 * errors are those of `@kubeconnect/client`.
 *
 * @module
 */
import { mkdtemp, open, rm, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SecureContextOptions } from "node:tls";
import { parseAddress } from "../address.js";
import { tokenSource, type BearerToken } from "../bearer.js";
import { tokenOf } from "../nodetoken.js";
import type { ObjectName } from "../object.js";
import { pack, splitRemote, unpack, type OnSkipped } from "./archive.js";
import { Containers, run, type ConnectionOptions, type ContainersConfig } from "./containers.js";
import { copyFailed } from "./copyerror.js";
import { PortForward, type PortForwardOptions } from "./portforward.js";
import { portRequest } from "./request.js";
import type { OpenSocket } from "./socket.js";
import { webSockets } from "./websocket.js";

export * from "./exports.js";
export type { OnSkipped } from "./archive.js";
export { CopyError } from "./copyerror.js";
export { PortForward, type PortForwardOptions } from "./portforward.js";

/** Options of a client of containers in Node.js, as those of `connect`. */
export interface NodeContainersOptions {
  /** The bearer token of each connection. It is never sent in plain text to another host. */
  readonly token?: BearerToken | undefined;
  /** The path of a file with the token, which is read for each connection. Not together with `token`. */
  readonly tokenFile?: string | undefined;
  /**
   * The timeout of `exec` in milliseconds, and of the opening of each connection; 0 for no limit. Default:
   * 30,000.
   */
  readonly timeoutMs?: number | undefined;
  /** CA certificates, client certificate and key, in PEM. */
  readonly tls?: Pick<SecureContextOptions, "ca" | "cert" | "key"> | undefined;
}

/** Options of copies. */
export interface CopyOptions extends ConnectionOptions {
  /** The container. Default: the pod's only container. */
  readonly container?: string | undefined;
  /** The timeout of the copy in milliseconds. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Is called with the path of what is skipped. */
  readonly onSkipped?: OnSkipped | undefined;
}

/** The maximum number of bytes of the errors of tar that are kept. */
const maxErrorBytes = 64 * 1024;

/** Commands in containers, their ports, and their files, which the container must have tar for. */
export class NodeContainers extends Containers {
  /**
   * Listens on 127.0.0.1, and forwards each connection to a port of a pod. The `address` of the result is
   * where to connect to. The pod is contacted with the first connection: a connection that fails is reset,
   * and `onError` is called with its error. Programs of other users of this host can connect to the port
   * too. Rejects with the error of Node.js if the local port is in use.
   */
  async portForward(
    pod: ObjectName,
    port: number,
    { localPort = 0, onError, signal }: PortForwardOptions = {},
  ): Promise<PortForward> {
    portRequest(pod, port); // throws for what is invalid
    const connect = (signal: AbortSignal) => this.openPort(pod, port, { signal });
    const signals = signal ? [signal, this.closing] : [this.closing];
    return new PortForward(connect, onError).listen(localPort, AbortSignal.any(signals));
  }

  /**
   * Copies `local`, a file or a folder with all that it contains, into a container, as `remote`. The folder
   * of `remote` must exist. Files that exist are replaced, and all others remain. Copied files have the
   * present time, and belong to the user of the container. Symbolic links are copied as such.
   *
   * Rejects with CopyError if tar fails, with the errors of `exec`, and with those of Node.js for files of
   * this host. Files that were copied before an error remain.
   */
  async copyTo(
    local: string,
    pod: ObjectName,
    remote: string,
    options: CopyOptions = {},
  ): Promise<void> {
    const { folder, name } = splitRemote(remote);
    const command = ["tar", "-xmf", "-", "-C", folder];
    const session = await this.openExec(pod, command, { ...options, stdin: true });
    const errors = new Errors();
    const input = pack(local, name, options.onSkipped ?? ignore);
    const exitCode = await run(session, input, ({ stream, data }) => {
      if (stream === "stderr") errors.add(data);
    });
    if (exitCode !== 0) throw copyFailed({ exitCode, stderr: errors.bytes() });
  }

  /**
   * Copies `remote`, a file or a folder with all that it contains, from a container, as `local`. Files that
   * exist are replaced, and all others remain. Anything but files and folders is skipped, symbolic links
   * too. The archive is written to a temporary file first, and to `local` when it is complete.
   *
   * Rejects with CopyError if tar fails, or if the archive of the container has a path that leaves `local`,
   * with the errors of `exec`, and with those of Node.js for files of this host.
   */
  async copyFrom(
    pod: ObjectName,
    remote: string,
    local: string,
    options: CopyOptions = {},
  ): Promise<void> {
    const { folder, name } = splitRemote(remote);
    // A name may begin with "-".
    const command = ["tar", "-cf", "-", "-C", folder, name === "." ? name : `./${name}`];
    await withTemporaryFile(async (archive) => {
      const session = await this.openExec(pod, command, { ...options, stdin: false });
      const errors = new Errors();
      const exitCode = await run(session, undefined, async ({ stream, data }) => {
        if (stream === "stderr") errors.add(data);
        else await archive.writeFile(data);
      });
      if (exitCode !== 0) throw copyFailed({ exitCode, stderr: errors.bytes() });
      await unpack(archive, name, local, options.onSkipped ?? ignore);
    });
  }
}

/**
 * Creates a client of the containers of the service at an address, which is that of `connect`. Nothing is
 * connected before the first call. Throws a TypeError for an invalid address.
 */
export function connectContainers(
  address: string,
  options: NodeContainersOptions = {},
): NodeContainers {
  const { tls, timeoutMs = 30_000 } = options;
  const baseUrl = parseAddress(address);
  const token = tokenOf(options);
  const config: ContainersConfig = {
    open: sockets(baseUrl, tls),
    token: token === undefined ? undefined : tokenSource(baseUrl, token),
    timeoutMs,
  };
  return new NodeContainers(config);
}

/** Opens connections by the package "ws" if it is installed, and else by the WebSocket of the runtime. */
function sockets(baseUrl: string, tls: NodeContainersOptions["tls"]): OpenSocket {
  let loading: Promise<OpenSocket> | undefined;
  const load = async (): Promise<OpenSocket> => {
    try {
      const { WebSocket: ws } = await import("ws");
      const { wsSockets } = await import("./wssocket.js");
      return wsSockets(ws, baseUrl, tls ?? {});
    } catch (error) {
      if (!isMissingModule(error)) throw error;
      const isKnown = "WebSocket" in globalThis;
      if (isKnown && !tls) return webSockets(baseUrl);
      const purpose = isKnown ? "tls needs" : "connections into containers need";
      throw new Error(`${purpose} the package "ws": npm install ws`, { cause: error });
    }
  };
  return async (request, options) => (await (loading ??= load()))(request, options);
}

function isMissingModule(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
}

/** The beginning of what tar prints to its standard error. */
class Errors {
  readonly #parts: Uint8Array[] = [];
  #size = 0;

  add(data: Uint8Array): void {
    const kept = data.subarray(0, maxErrorBytes - this.#size);
    this.#parts.push(kept);
    this.#size += kept.length;
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#parts);
  }
}

/** Calls a function with an empty file, and removes it. */
async function withTemporaryFile(use: (file: FileHandle) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "kubeconnect-"));
  try {
    const file = await open(join(folder, "archive.tar"), "wx+", 0o600);
    try {
      await use(file);
    } finally {
      await file.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function ignore(): void {
  // What is skipped is of no interest.
}
