import {
  fromBinary,
  toBinary,
  type DescMessage,
  type DescMethod,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createContextValues,
  type Interceptor,
  type Transport,
  type UnaryRequest,
} from "@connectrpc/connect";
import {
  compressionGzip,
  createNodeHttpClient,
  type Http2SessionManager,
} from "@connectrpc/connect-node";
import {
  createMethodUrl,
  encodeEnvelope,
  runStreamingCall,
  runUnaryCall,
  type UniversalClientResponse,
} from "@connectrpc/connect/protocol";
import {
  requestHeaderWithCompression,
  validateResponseWithCompression,
  validateTrailer,
} from "@connectrpc/connect/protocol-grpc";
import { Envelopes } from "./envelopes.js";

interface GrpcOptions {
  readonly baseUrl: string;
  readonly sessionManager: Http2SessionManager;
  readonly interceptors: Interceptor[];
  readonly defaultTimeoutMs?: number;
}

type Request<I extends DescMessage, O extends DescMessage> = Pick<
  UnaryRequest,
  "url" | "header" | "signal"
> & { readonly method: { readonly input: I; readonly output: O } };

/**
 * Returns a transport that does what `createGrpcTransport` of Connect does, with less: Connect leads
 * each piece of a response, and each message, through seven asynchronous generators, which cost more
 * than all else that a small change needs.
 */
export function grpcTransport(options: GrpcOptions): Transport {
  const { baseUrl, sessionManager, interceptors, defaultTimeoutMs } = options;
  const client = createNodeHttpClient({ httpVersion: "2", sessionProvider: () => sessionManager });

  const callOf = <M extends DescMethod>(
    method: M,
    signal?: AbortSignal,
    timeoutMs = defaultTimeoutMs,
    header?: HeadersInit,
    contextValues = createContextValues(),
  ) => {
    const limitMs = timeoutMs === 0 ? undefined : timeoutMs;
    return {
      options: {
        interceptors,
        ...(signal && { signal }),
        ...(limitMs && { timeoutMs: limitMs }),
      },
      request: {
        service: method.parent,
        method,
        requestMethod: "POST",
        url: createMethodUrl(baseUrl, method),
        header: requestHeaderWithCompression(true, limitMs, header, compressions, null),
        contextValues,
      },
    };
  };

  const send = async <I extends DescMessage, O extends DescMessage, R extends Request<I, O>>(
    request: R & Request<I, O>,
    messages: AsyncIterable<MessageShape<I>> | Iterable<MessageShape<I>>,
  ) => {
    const { input, output } = request.method;
    const response = await client({ ...request, method: "POST", body: encode(input, messages) });
    const { header, trailer } = response;
    return { ...request, header, trailer, message: decode(output, response) };
  };

  return {
    unary: (method, signal, timeoutMs, headers, message, contextValues) => {
      const { options, request } = callOf(method, signal, timeoutMs, headers, contextValues);
      return runUnaryCall<typeof method.input, typeof method.output>({
        ...options,
        req: { ...request, stream: false, message },
        next: async (request) => {
          const response = await send(request, [request.message]);
          return { ...response, message: await only(response.message) };
        },
      });
    },
    stream: (method, signal, timeoutMs, headers, input, contextValues) => {
      const { options, request } = callOf(method, signal, timeoutMs, headers, contextValues);
      return runStreamingCall<typeof method.input, typeof method.output>({
        ...options,
        req: { ...request, stream: true, message: input },
        next: (request) => send(request, request.message),
      });
    },
  };
}

/** The service compresses large unary responses if its operator wants that. */
const compressions = [compressionGzip];

/** Encodes the messages of a request. */
async function* encode<I extends DescMessage>(
  schema: I,
  messages: AsyncIterable<MessageShape<I>> | Iterable<MessageShape<I>>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for await (const message of messages) yield encodeEnvelope(0, toBinary(schema, message));
}

/** Decodes the messages of a response. */
function decode<O extends DescMessage>(
  schema: O,
  { status, header, body, trailer }: UniversalClientResponse,
): AsyncGenerator<MessageShape<O>, void, undefined> {
  const { foundStatus, headerError } = validateResponseWithCompression(
    compressions,
    status,
    header,
  );
  if (headerError) throw headerError;
  return (async function* () {
    const received = new Envelopes();
    for await (const piece of body) {
      for (const { flags, data } of received.read(piece)) {
        yield parse(schema, flags === 0 ? data : await compressionGzip.decompress(data, noLimit));
      }
    }
    received.end();
    if (!foundStatus) validateTrailer(trailer, header);
  })();
}

function parse<O extends DescMessage>(schema: O, data: Uint8Array): MessageShape<O> {
  try {
    return fromBinary(schema, data);
  } catch (error) {
    throw ConnectError.from(error, Code.Internal);
  }
}

/** Returns the message of a unary response. */
async function only<M>(messages: AsyncIterable<M>): Promise<M> {
  let count = 0;
  let last: M | undefined;
  for await (last of messages) count++;
  if (count !== 1) throw new ConnectError(`protocol error: ${count} messages`, Code.Unimplemented);
  return last as M;
}

/** The prefix of a message cannot have a greater length. */
const noLimit = 0xffffffff;
