import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { joined } from "./bytes.js";
import { stream, type StreamOptions } from "./call.js";
import {
  LogStream as LogStreamValue,
  type GetLogsRequestSchema,
  type PodService,
} from "./gen/kubeconnect/v1/pod_service_pb.js";
import type { ObjectName } from "./object.js";
import { valueOf } from "./enum.js";

/** The output stream of a container. Clusters that cannot select a single stream reject the call. */
export type LogStream = "all" | "stdout" | "stderr";

/** Options of a log. */
export interface LogOptions extends StreamOptions {
  /** The container. Default: the pod's only container. */
  readonly container?: string | undefined;
  /** Continues until the container ends. */
  readonly follow?: boolean | undefined;
  /** Reads the log of the container's previous run. */
  readonly previous?: boolean | undefined;
  /** Begins this number of seconds ago; at least 1. Not together with `sinceTime`. */
  readonly sinceSeconds?: number | undefined;
  /** Begins at this time, rounded down to a whole second. */
  readonly sinceTime?: Date | undefined;
  /** Begins with the last n lines. Default: with the first line. */
  readonly tailLines?: number | undefined;
  /** Ends after this number of bytes; at least 1. Default: no limit. */
  readonly limitBytes?: number | undefined;
  /** Prefixes each line with its time (RFC 3339, with nanoseconds). */
  readonly timestamps?: boolean | undefined;
  /** The output stream. Default: "all". */
  readonly stream?: LogStream | undefined;
}

const newline = 0x0a;

/**
 * The log of a container. Each iteration opens a stream, and leaving the loop closes it. The
 * iteration ends with the log. A followed log ends with its container. A log that is lost fails
 * with Code.Unavailable.
 *
 * Iterating yields the lines as text, without line ends. Invalid UTF-8 is replaced by U+FFFD. A
 * line is yielded when it is complete.
 */
export class Log implements AsyncIterable<string> {
  readonly #service: Client<typeof PodService>;
  readonly #pod: ObjectName;
  readonly #options: LogOptions;

  /** @internal */
  constructor(service: Client<typeof PodService>, pod: ObjectName, options: LogOptions) {
    this.#service = service;
    this.#pod = pod;
    this.#options = options;
  }

  /** Iterates over the lines. */
  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, undefined> {
    let parts: Uint8Array[] = []; // of an incomplete line
    for await (const chunk of this.chunks()) {
      let begin = 0;
      for (let end; (end = chunk.indexOf(newline, begin)) >= 0; begin = end + 1) {
        yield textOf([...parts, chunk.subarray(begin, end)]);
        parts = [];
      }
      if (begin < chunk.length) parts.push(chunk.subarray(begin));
    }
    if (parts.length > 0) yield textOf(parts);
  }

  /**
   * Iterates over the bytes, in chunks of at most 64 KiB. A chunk ends at the end of a line,
   * unless the line is longer than that, or is incomplete for a second.
   */
  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    const request = requestOf(this.#pod, this.#options);
    for await (const { data } of stream(this.#options, (call) =>
      this.#service.getLogs(request, call),
    )) {
      if (data.length > 0) yield data;
    }
  }

  /** Returns all bytes, when the log has ended. */
  async bytes(): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.chunks()) {
      chunks.push(chunk);
    }
    return joined(chunks);
  }
}

const streams = {
  all: LogStreamValue.UNSPECIFIED,
  stdout: LogStreamValue.STDOUT,
  stderr: LogStreamValue.STDERR,
} as const;

function requestOf(
  { namespace = "", name }: ObjectName,
  options: LogOptions,
): MessageInitShape<typeof GetLogsRequestSchema> {
  const { container = "", follow = false, previous = false, timestamps = false } = options;
  const { sinceSeconds, sinceTime, tailLines, limitBytes, stream = "all" } = options;
  return {
    namespace,
    name,
    container,
    follow,
    previous,
    timestamps,
    stream: valueOf(streams, stream),
    ...(sinceSeconds !== undefined && { sinceSeconds: BigInt(sinceSeconds) }),
    ...(sinceTime && { sinceTime: { seconds: BigInt(Math.floor(sinceTime.getTime() / 1000)) } }),
    ...(tailLines !== undefined && { tailLines: BigInt(tailLines) }),
    ...(limitBytes !== undefined && { limitBytes: BigInt(limitBytes) }),
  };
}

function textOf(parts: readonly Uint8Array[]): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(joined(parts));
}
