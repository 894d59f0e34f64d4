import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { stream, type CallOptions } from "./call.js";
import {
  LogStream as LogStreamValue,
  type GetLogsRequestSchema,
  type PodService,
} from "./gen/kubeconnect/v1/pod_service_pb.js";
import type { ObjectName } from "./object.js";
import { valueOf } from "./word.js";

/** Which output of a container. Where the cluster does not offer one alone, it refuses. */
export type LogStream = "all" | "stdout" | "stderr";

/** What to read of a log. */
export interface LogOptions extends CallOptions {
  /** Default: the pod's only one. */
  readonly container?: string | undefined;
  /** Go on until the container ends. */
  readonly follow?: boolean | undefined;
  /** The log of the container's previous run. */
  readonly previous?: boolean | undefined;
  /** Only the last so many seconds; at least 1. Not together with `sinceTime`. */
  readonly sinceSeconds?: number | undefined;
  /** Begin at this time; fractions of a second are left off. */
  readonly sinceTime?: Date | undefined;
  /** Begin with so many last lines. Default: with the first. */
  readonly tailLines?: number | undefined;
  /** End after so many bytes; at least 1. Default: no limit. */
  readonly limitBytes?: number | undefined;
  /** Put the time before each line (RFC 3339, with nanoseconds). */
  readonly timestamps?: boolean | undefined;
  /** Default: "all". */
  readonly stream?: LogStream | undefined;
}

const newline = 0x0a;

/**
 * What a container has written. It is opened by iterating it; each iteration is a stream
 * of its own, and leaving the loop ends that. It ends with the log; one that is followed
 * ends with its container. A log that is lost fails with Code.Unavailable.
 *
 * The iteration is over lines, without their ends, as text: what is not UTF-8 is replaced
 * by U+FFFD. A line comes when it is whole.
 */
export class Log implements AsyncIterable<string> {
  readonly #service: Client<typeof PodService>;
  readonly #pod: ObjectName;
  readonly #options: LogOptions;

  constructor(service: Client<typeof PodService>, pod: ObjectName, options: LogOptions) {
    this.#service = service;
    this.#pod = pod;
    this.#options = options;
  }

  /** The lines. */
  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, undefined> {
    let parts: Uint8Array[] = []; // of a line that is not whole yet
    for await (const piece of this.pieces()) {
      let begin = 0;
      for (let end; (end = piece.indexOf(newline, begin)) >= 0; begin = end + 1) {
        yield textOf([...parts, piece.subarray(begin, end)]);
        parts = [];
      }
      if (begin < piece.length) parts.push(piece.subarray(begin));
    }
    if (parts.length > 0) yield textOf(parts);
  }

  /**
   * The bytes, in pieces of at most 64 KiB. A piece ends with a line, unless that is
   * longer, or the log has stood still in the midst of it for a second.
   */
  async *pieces(): AsyncGenerator<Uint8Array, void, undefined> {
    const request = requestOf(this.#pod, this.#options);
    const { signal } = this.#options;
    for await (const { data } of stream({ signal }, (call) =>
      this.#service.getLogs(request, call),
    )) {
      if (data.length > 0) yield data;
    }
  }

  /** All of the bytes, when the log has ended. */
  async bytes(): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.pieces()) {
      pieces.push(piece);
    }
    return joined(pieces);
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

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
