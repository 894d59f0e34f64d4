import { KubeconnectError } from "@kubeconnect/client";
import type { Containers, ContainerSession } from "@kubeconnect/client/containers/web";

/** A container of a pod. */
export interface ContainerName {
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
}

/** The size of a terminal in characters. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The state of the connection to a shell. */
export type ShellState =
  | { readonly is: "connecting" | "connected" }
  | { readonly is: "ended"; readonly exitCode: number }
  | { readonly is: "failed"; readonly message: string };

/** What a shell reports to a terminal. */
export interface ShellListener {
  readonly onState: (state: ShellState) => void;
  /** Shows output, and resolves when that has been shown: until then no more is read. */
  readonly onOutput: (data: Uint8Array) => Promise<void>;
}

/** Runs bash if the container has it, and otherwise its shell. */
const command = ["sh", "-c", "test -x /bin/bash && exec /bin/bash || sh"];

/** The number of bytes that were typed, or pasted, and not sent yet, after which more is dropped. */
const maxUnsentBytes = 1024 * 1024;

/** A shell that runs in a container, from its start until it ends or is closed. */
export class Shell {
  readonly #listener: ShellListener;
  readonly #leaving = new AbortController();
  #session: ContainerSession | undefined;
  #size: Size;
  /** What is sent, in order. */
  #sending: Promise<void> = Promise.resolve();
  #unsentBytes = 0;

  constructor(
    connect: () => Promise<Containers>,
    of: ContainerName,
    size: Size,
    listener: ShellListener,
  ) {
    this.#size = size;
    this.#listener = listener;
    void this.#run(connect, of);
  }

  /** Sends what was typed. It is dropped when the shell has ended. */
  write(text: string): void {
    const data = new TextEncoder().encode(text);
    if (this.#unsentBytes + data.length > maxUnsentBytes) return;
    this.#unsentBytes += data.length;
    this.#send(async (session) => {
      await session.write(data);
      this.#unsentBytes -= data.length;
    });
  }

  /** Sets the size of the terminal. */
  resize(size: Size): void {
    this.#size = size;
    this.#send((session) => session.resize(size));
  }

  /** Closes the connection. Nothing is reported after that. */
  close(): void {
    this.#leaving.abort();
    this.#session?.close();
  }

  async #run(connect: () => Promise<Containers>, of: ContainerName): Promise<void> {
    const { container, ...pod } = of;
    const { signal } = this.#leaving;
    this.#listener.onState({ is: "connecting" });
    try {
      const containers = await connect();
      signal.throwIfAborted();
      const session = await containers.openExec(pod, command, { container, tty: true, signal });
      this.#session = session;
      this.resize(this.#size);
      this.#listener.onState({ is: "connected" });
      for await (const { data } of session) await this.#listener.onOutput(data);
      session.close();
      this.#listener.onState({ is: "ended", exitCode: session.exitCode ?? 0 });
    } catch (error) {
      this.#session?.close();
      if (signal.aborted) return;
      this.#listener.onState({ is: "failed", message: KubeconnectError.from(error).message });
    }
  }

  #send(send: (session: ContainerSession) => Promise<void>): void {
    const session = this.#session;
    if (!session) return;
    // The reader reports why the connection has ended.
    this.#sending = this.#sending.then(() => send(session)).catch(() => undefined);
  }
}
