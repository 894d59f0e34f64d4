/**
 * Returns the headers of a call, with `traceparent` and `tracestate` of the active context if the
 * program uses OpenTelemetry. A `traceparent` of the caller takes precedence. An error of
 * OpenTelemetry is reported to its diagnostic logger, and the call is sent without the headers.
 */
export function withTraceContext(
  headers: Readonly<Record<string, string>> | undefined,
): HeadersInit | undefined {
  const traceContext = activeTraceContext();
  if (!traceContext?.has("traceparent")) return headers;
  const all = new Headers(headers);
  if (all.has("traceparent")) return headers;
  traceContext.forEach((value, name) => {
    all.set(name, value);
  });
  return all;
}

function activeTraceContext(): Headers | undefined {
  const { context, propagation, diag } = registered();
  if (!context || !propagation) return undefined;
  const headers = new Headers();
  try {
    propagation.inject(context.active(), headers, setter);
    return headers;
  } catch (error) {
    diag?.error("kubeconnect: a call is sent without its trace context:", error);
    return undefined;
  }
}

/** Accepts the headers of W3C only: others, such as baggage, may have data of the user. */
const setter: Setter = {
  set: (headers, name, value) => {
    if (/^trace(parent|state)$/i.test(name)) headers.set(name, value);
  },
};

/**
 * What a program has registered by @opentelemetry/api. All versions of that package, and all
 * copies of it in a program, share this object, so that libraries need not depend on the package.
 */
function registered(): OpenTelemetry {
  const key = Symbol.for("opentelemetry.js.api.1");
  return (globalThis as { [key]?: OpenTelemetry })[key] ?? {};
}

/** The part of the object that is read here. A program registers each of its fields by itself. */
interface OpenTelemetry {
  readonly context?: { active(): unknown };
  readonly propagation?: { inject(context: unknown, carrier: Headers, setter: Setter): void };
  readonly diag?: { error(message: string, ...values: unknown[]): void };
}

interface Setter {
  set(carrier: Headers, name: string, value: string): void;
}
