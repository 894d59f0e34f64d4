import { KubeconnectError } from "./error.js";
import type { KubeValue } from "./object.js";
import { sleep, type Sleep } from "./sleep.js";
import type { WatchBatch } from "./watch.js";

/**
 * Opens a stream of batches that ends with the signal, and continues at the token; an
 * empty one means from the beginning.
 */
export type OpenBatches<B> = (signal: AbortSignal, resumeToken: string) => AsyncIterable<B>;

/** Opens the batches of a watch. */
export type OpenWatch<T = KubeValue> = OpenBatches<WatchBatch<T>>;

/** How long a stream may be silent. */
export interface SilenceLimits {
  /**
   * The longest silence within a stream, in milliseconds; Infinity for no limit. The
   * service sends a message at least every ten seconds. Default: 12,000.
   */
  readonly quietMs?: number | undefined;
  /**
   * The longest wait for the first message of a stream, in milliseconds; Infinity for no
   * limit. It takes long where the service has to read the resource from the API server
   * first. Default: 60,000.
   */
  readonly firstQuietMs?: number | undefined;
}

/**
 * A watch that fails with Code.Unavailable when nothing has come for too long: silence
 * means that the service is frozen or the connection is dead, even where nothing else
 * says so. `follow` has one already. The time in which the caller asks for no batch does
 * not count.
 */
export function watchdog<B>(
  open: OpenBatches<B>,
  { quietMs = 12_000, firstQuietMs = 60_000 }: SilenceLimits = {},
  wait: Sleep = sleep,
): OpenBatches<B> {
  return async function* (signal, resumeToken) {
    const silence = new AbortController();
    const watching = AbortSignal.any([signal, silence.signal]);
    const batches = open(watching, resumeToken)[Symbol.asyncIterator]();
    const bark = (): void => {
      const seconds = Math.round(limitMs / 1000);
      silence.abort(KubeconnectError.unavailable(`nothing has come for ${seconds} s`));
    };
    let limitMs = firstQuietMs;
    try {
      for (;;) {
        const heard = new AbortController();
        if (limitMs <= longestTimeout) {
          wait(limitMs, AbortSignal.any([watching, heard.signal])).then(bark, ignore);
        }
        const next = await batches.next().finally(() => {
          heard.abort();
        });
        if (next.done) {
          return;
        }
        limitMs = quietMs;
        yield next.value;
      }
    } finally {
      await batches.return?.();
    }
  };
}

/** What a timer can wait at most. */
const longestTimeout = 2 ** 31 - 1;

function ignore(): void {
  // The wait was cut short: something came, or the watch is over.
}
