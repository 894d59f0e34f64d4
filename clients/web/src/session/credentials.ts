import { Code, KubeconnectError } from "@kubeconnect/client";
import type { Interceptor, StreamRequest, StreamResponse } from "@connectrpc/connect";

/** A bearer token, and how to continue after it. */
export interface Grant {
  /** Empty for a caller that sends no token. */
  readonly token: string;
  /** How the issuer renews the token; undefined if the user must sign in again. */
  readonly renewal?: Renewal | undefined;
  /** Where the user can sign out of the issuer too. */
  readonly signOut?: { readonly host: string; readonly address: string } | undefined;
}

export interface Renewal {
  /** When to request the next token, in milliseconds since 1970. */
  readonly at: number;
  /** Requests the next token. */
  readonly next: () => Promise<Grant>;
}

/** How long to wait after a renewal that has failed, in milliseconds. */
const retryDelay = 10_000;

/** The longest delay of a timer of browsers, in milliseconds. */
const maxDelay = 2 ** 31 - 1;

/**
 * The bearer token of all calls. A token that its issuer renews is renewed before it expires. Any
 * other token that the service no longer accepts has expired: calls wait for the next one, so that
 * the views continue where they were.
 */
export class Credentials {
  #grant: Grant;
  /** Whether the service has accepted the token. */
  #isAccepted = true;
  #isExpired = false;
  /** Resolves when a rejected token has been replaced. */
  #replacement: PromiseWithResolvers | undefined;
  /** The request for the next token. */
  #request: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isKeptRenewed = false;
  readonly #listeners = new Set<() => void>();

  /** The service must have accepted the token of the grant. */
  constructor(grant: Grant) {
    this.#grant = grant;
  }

  /** Returns the last token. Needs no `this`. */
  readonly token = (): string => this.#grant.token;

  /** Returns whether the user must sign in again. Needs no `this`. */
  readonly isExpired = (): boolean => this.#isExpired;

  /** Calls the listener after each change of `isExpired`. Needs no `this`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Renews the token before it expires, until the returned function is called. */
  keepRenewed(): () => void {
    this.#isKeptRenewed = true;
    this.#schedule(this.#grant.renewal?.at);
    return () => {
      this.#isKeptRenewed = false;
      clearTimeout(this.#timer);
    };
  }

  /** Records that the service has accepted a token. */
  accepted(token: string): void {
    if (token === this.#grant.token) this.#isAccepted = true;
  }

  /**
   * Records that the service has rejected a token. One that is not the last one does not matter. A
   * token that was never accepted is not renewed, because the next one would be rejected too.
   */
  rejected(token: string): void {
    if (token !== this.#grant.token || this.#replacement) return;
    this.#replacement = withResolvers();
    if (!this.#grant.renewal || !this.#isAccepted) this.#setExpired(true);
    else
      this.#requestNext(this.#grant.renewal).catch(() => {
        this.#setExpired(true);
      });
  }

  /** Continues with another token. */
  renew(grant: Grant): void {
    this.#grant = grant;
    this.#isAccepted = false;
    this.#replacement?.resolve();
    this.#replacement = undefined;
    this.#setExpired(false);
    this.#schedule(grant.renewal?.at);
  }

  /** Waits until there is a token that has not expired. Rejects if the signal aborts. */
  async valid(signal: AbortSignal): Promise<void> {
    const { promise } = this.#replacement ?? {};
    if (promise) await Promise.race([promise, aborted(signal)]);
    signal.throwIfAborted();
  }

  /** Requests the next token, once for concurrent calls. */
  #requestNext({ next }: Renewal): Promise<void> {
    this.#request ??= next()
      .then((grant) => {
        this.renew(grant);
      })
      .finally(() => {
        this.#request = undefined;
      });
    return this.#request;
  }

  /** Renews the token at a time, and tries again until the service rejects the token. */
  #schedule(at: number | undefined): void {
    clearTimeout(this.#timer);
    if (at === undefined || !this.#isKeptRenewed || this.#isExpired) return;
    const delay = Math.min(Math.max(at - Date.now(), 0), maxDelay);
    this.#timer = setTimeout(() => {
      const { renewal } = this.#grant;
      if (!renewal) return;
      this.#requestNext(renewal).catch(() => {
        this.#schedule(Date.now() + retryDelay);
      });
    }, delay);
  }

  #setExpired(isExpired: boolean): void {
    if (isExpired === this.#isExpired) return;
    this.#isExpired = isExpired;
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
        const response = await attempt();
        credentials.accepted(token);
        return response;
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
