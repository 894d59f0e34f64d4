import { Code, KubeconnectError } from "@kubeconnect/client";
import type { Interceptor, StreamRequest, StreamResponse } from "@connectrpc/connect";

/**
 * The bearer token of all calls. A token that the service no longer accepts has expired: calls wait
 * for the next one, so that the views continue where they were.
 */
export class Credentials {
  #token: string;
  #renewal: PromiseWithResolvers | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(token: string) {
    this.#token = token;
  }

  /** Returns the last token. Needs no `this`. */
  readonly token = (): string => this.#token;

  /** Returns whether a new token is needed. Needs no `this`. */
  readonly isExpired = (): boolean => this.#renewal !== undefined;

  /** Calls the listener after each change of `isExpired`. Needs no `this`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Records that the service has rejected a token. One that is not the last one does not matter. */
  rejected(token: string): void {
    if (token !== this.#token || this.#renewal) return;
    this.#renewal = withResolvers();
    this.#notify();
  }

  /** Continues with another token. */
  renew(token: string): void {
    this.#token = token;
    this.#renewal?.resolve();
    this.#renewal = undefined;
    this.#notify();
  }

  /** Waits until there is a token that has not expired. Rejects if the signal aborts. */
  async valid(signal: AbortSignal): Promise<void> {
    const { promise } = this.#renewal ?? {};
    if (promise) await Promise.race([promise, aborted(signal)]);
    signal.throwIfAborted();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Creates an interceptor that makes a rejected call again with the next token. */
export function waitForSignIn(credentials: Credentials): Interceptor {
  return (next) => async (request) => {
    const attempt = request.stream ? replayable(request, next as StreamCall) : () => next(request);
    for (;;) {
      await credentials.valid(request.signal);
      const token = credentials.token();
      try {
        return await attempt();
      } catch (error) {
        if (KubeconnectError.from(error).code !== Code.Unauthenticated) throw error;
        credentials.rejected(token);
      }
    }
  };
}

type StreamCall = (request: StreamRequest) => Promise<StreamResponse>;

/**
 * Returns a function that makes a streaming call, as often as it is called. It returns when the
 * first message has arrived, because a stream is rejected at the earliest with that.
 */
function replayable(request: StreamRequest, next: StreamCall): () => Promise<StreamResponse> {
  const messages = collected(request.message);
  return async () => {
    const response = await next({ ...request, message: each(await messages) });
    const iterator = response.message[Symbol.asyncIterator]();
    const first = await iterator.next();
    return { ...response, message: continued(first, iterator) };
  };
}

async function collected<T>(source: AsyncIterable<T>): Promise<readonly T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

// eslint-disable-next-line @typescript-eslint/require-await -- the transport reads an async iterable
async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

async function* continued<T>(first: IteratorResult<T>, rest: AsyncIterator<T>): AsyncGenerator<T> {
  try {
    for (let result = first; !result.done; result = await rest.next()) yield result.value;
  } finally {
    await rest.return?.();
  }
}

interface PromiseWithResolvers {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function withResolvers(): PromiseWithResolvers {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

/** Resolves when the signal aborts. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else
      signal.addEventListener(
        "abort",
        () => {
          resolve();
        },
        { once: true },
      );
  });
}
