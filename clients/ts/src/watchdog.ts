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

/**
 * A watch that fails when nothing has come for too long. The service sends a
 * bookmark every few seconds, so silence means that the connection is dead, even
 * where nothing else tells.
 */
export function watchdog<B>(
  open: OpenBatches<B>,
  quietMs: number,
  wait: Sleep = sleep,
): OpenBatches<B> {
  return async function* (signal, resumeToken) {
    const silence = new AbortController();
    const watching = AbortSignal.any([signal, silence.signal]);
    const batches = open(watching, resumeToken)[Symbol.asyncIterator]();
    const bark = (): void => {
      const seconds = Math.round(quietMs / 1000);
      silence.abort(KubeconnectError.unavailable(`nothing has come for ${seconds} s`));
    };
    try {
      for (;;) {
        const heard = new AbortController();
        wait(quietMs, AbortSignal.any([watching, heard.signal])).then(bark, ignore);
        const next = await batches.next().finally(() => {
          heard.abort();
        });
        if (next.done) {
          return;
        }
        yield next.value;
      }
    } finally {
      await batches.return?.();
    }
  };
}

function ignore(): void {
  // The wait was cut short: something came, or the watch is over.
}
