import { KubeconnectError } from "./error.js";

/**
 * A function that opens a stream of batches. The stream ends when the signal aborts, and resumes
 * at the token. With an empty token it begins with a snapshot.
 */
export type OpenBatches<B> = (signal: AbortSignal, resumeToken: string) => AsyncIterable<B>;

/** The limits of silence of a stream. */
export interface SilenceLimits {
  /**
   * The maximum silence within a stream, in milliseconds. The service sends a message at least
   * every ten seconds. Default: 12,000.
   */
  readonly quietMs?: number | undefined;
  /**
   * The maximum wait for the first message of a stream, in milliseconds. The first message takes
   * longer if the service has to read the resource from the API server first. Default: 60,000.
   */
  readonly firstQuietMs?: number | undefined;
}

/**
 * Wraps a stream so that it fails with Code.Unavailable when no message is received for too long.
 * Silence means that the service is frozen or the connection is dead, even if nothing else
 * reports it. Time during which the caller does not request a batch does not count.
 */
export function failWhenSilent<B>(
  open: OpenBatches<B>,
  { quietMs = 12_000, firstQuietMs = 60_000 }: SilenceLimits = {},
): OpenBatches<B> {
  return async function* (signal, resumeToken) {
    const silence = new AbortController();
    const either = AbortSignal.any([signal, silence.signal]);
    const batches = open(either, resumeToken)[Symbol.asyncIterator]();
    const onSilence = (): void => {
      const seconds = Math.round(limitMs / 1000);
      silence.abort(KubeconnectError.unavailable(`no message received for ${seconds} s`));
    };
    let limitMs = firstQuietMs;
    try {
      for (;;) {
        // A timer costs less than a tenth of an abort signal, which matters for every message.
        const timer = setTimeout(onSilence, limitMs);
        let next: IteratorResult<B>;
        try {
          next = await batches.next();
        } finally {
          clearTimeout(timer);
        }
        if (next.done) return;
        limitMs = quietMs;
        yield next.value;
      }
    } finally {
      await batches.return?.();
    }
  };
}
