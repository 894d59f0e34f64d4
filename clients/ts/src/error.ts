import { Code, ConnectError } from "@connectrpc/connect";
import { isConnectionLost, withAdvice } from "./advice.js";
import type { PatchResult } from "./patch.js";
import { StatusSchema, type Status } from "./gen/kubeconnect/v1/status_pb.js";
import { codeOf } from "./statuscode.js";

/** A single cause of an error, such as a field that failed validation. */
export interface StatusCause {
  /** The machine-readable reason, such as "FieldValueRequired". */
  readonly reason: string;
  /** The human-readable message. */
  readonly message: string;
  /** The JSON path of the field, such as "spec.replicas". */
  readonly field: string;
}

const closedMessage = "the client is closed";

/**
 * The error of all failed calls. Most errors are instances of a subclass for their reason, such as
 * NotFoundError; only errors without a class of their own are instances of this class alone. A call
 * that was cancelled by the caller's signal fails with the signal's reason instead, like fetch.
 */
export class KubeconnectError extends Error {
  override readonly name: string = "KubeconnectError";
  /** The RPC's error code. */
  readonly code: Code;
  /** The reason in Kubernetes' terms, such as "AlreadyExists"; empty if there is none. */
  readonly reason: string;
  readonly causes: readonly StatusCause[];
  /** The number of causes that the service left out, because it bounds the size of an error. */
  readonly omittedCauseCount: number;
  /** The number of seconds after which to retry; 0 if the service sent none. */
  readonly retryAfterSeconds: number;
  /** Whether the service has sent the error. If not, the error is one of the connection. */
  readonly fromService: boolean;
  /**
   * The ID with which the service logs the failed call: the header `X-Request-Id` of the response. Empty
   * if the service has not sent the error, and for an error of a part of a shared stream.
   */
  readonly requestId: string;

  protected constructor(message: string, code: Code, status?: Status, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.reason = status?.reason ?? "";
    this.causes =
      status?.causes.map(({ reason, message, field }) => ({ reason, message, field })) ?? [];
    this.omittedCauseCount = status?.omittedCauseCount ?? 0;
    this.retryAfterSeconds = status?.retryAfterSeconds ?? 0;
    this.fromService = status !== undefined;
    this.requestId = (cause instanceof ConnectError && cause.metadata.get("X-Request-Id")) || "";
  }

  /** Converts the error of a call. The message of the service's Status takes precedence. */
  static from(error: unknown): KubeconnectError {
    if (error instanceof KubeconnectError) {
      return error;
    }
    const connectError = ConnectError.from(error);
    const status = connectError.findDetails(StatusSchema)[0];
    const code = isConnectionLost(connectError) ? Code.Unavailable : connectError.code;
    const message = status?.message || withAdvice(connectError);
    return KubeconnectError.#of(code, message, status, connectError);
  }

  /** Returns the same error with another message. */
  withMessage(message: string): KubeconnectError {
    const { code, reason } = this;
    const error = new (classOf(code, reason))(message, code, undefined, this);
    return Object.assign(error, detailsOf(this));
  }

  /**
   * Returns the error of an object whose content the service could not read.
   *
   * @internal
   */
  static fromStatus(status: Status): KubeconnectError {
    return KubeconnectError.#of(Code.DataLoss, status.message, status);
  }

  /**
   * Returns the error of a part of a stream, as that of a call of its own.
   *
   * @internal
   */
  static ofCall(status: Status): KubeconnectError {
    return KubeconnectError.#of(codeOf(status), status.message, status);
  }

  /**
   * Returns the error of an expired list for the error of a page token that the service cannot read.
   *
   * @internal
   */
  static expired(error: KubeconnectError): KubeconnectError {
    const { message, requestId } = error;
    const expired = new (classOf(Code.OutOfRange))(message, Code.OutOfRange, undefined, error);
    return Object.assign(expired, { reason: "Expired", fromService: true, requestId });
  }

  /** Returns the error for an unreachable service. */
  static unavailable(message: string): KubeconnectError {
    return KubeconnectError.#of(Code.Unavailable, message);
  }

  /** Returns the error for a call on a closed client. */
  static closed(): KubeconnectError {
    return KubeconnectError.#of(Code.Canceled, closedMessage);
  }

  /** Whether the call ended because the client was closed. */
  get isClosed(): boolean {
    return this.code === Code.Canceled && this.message === closedMessage;
  }

  /** Returns the error for a change that is lost, because it cannot be applied. */
  static dataLoss(message: string): KubeconnectError {
    return KubeconnectError.#of(Code.DataLoss, message);
  }

  /** Returns the error for a message of the service that is invalid for this client. */
  static internal(message: string): KubeconnectError {
    return KubeconnectError.#of(Code.Internal, message);
  }

  static #of(code: Code, message: string, status?: Status, cause?: unknown): KubeconnectError {
    return new (classOf(code, status?.reason))(message, code, status, cause);
  }
}

/** The request is malformed. The message names the invalid part. */
export class InvalidArgumentError extends KubeconnectError {
  override readonly name: string = "InvalidArgumentError";
}

/** The object failed validation. `causes` has one entry for each field. */
export class InvalidError extends InvalidArgumentError {
  override readonly name = "InvalidError";
}

/** The credentials are missing, invalid or expired. */
export class UnauthenticatedError extends KubeconnectError {
  override readonly name = "UnauthenticatedError";
}

/** The caller lacks a permission of the cluster's RBAC. */
export class ForbiddenError extends KubeconnectError {
  override readonly name = "ForbiddenError";
}

/** The object or the resource does not exist. */
export class NotFoundError extends KubeconnectError {
  override readonly name = "NotFoundError";
}

/** An object with this name exists. */
export class AlreadyExistsError extends KubeconnectError {
  override readonly name = "AlreadyExistsError";
}

/** The object has changed, a precondition failed, or other managers own the fields. */
export class ConflictError extends KubeconnectError {
  override readonly name = "ConflictError";
}

/** The page token has expired: list again from the first page. */
export class ExpiredError extends KubeconnectError {
  override readonly name = "ExpiredError";
}

/** A limit was reached, such as the size of a message. */
export class ResourceExhaustedError extends KubeconnectError {
  override readonly name: string = "ResourceExhaustedError";
}

/** The request was throttled: retry after `retryAfterSeconds`. */
export class TooManyRequestsError extends ResourceExhaustedError {
  override readonly name = "TooManyRequestsError";
}

/** The service or the resource does not support the operation. */
export class UnimplementedError extends KubeconnectError {
  override readonly name = "UnimplementedError";
}

/**
 * The service or the API server is unreachable, or the connection was lost before the response: then a
 * write may have been applied.
 */
export class UnavailableError extends KubeconnectError {
  override readonly name = "UnavailableError";
}

/** The timeout was exceeded. A write may have been applied. */
export class DeadlineExceededError extends KubeconnectError {
  override readonly name = "DeadlineExceededError";
}

/** Some objects of an `applyYaml` were not applied. All others were. */
export class ApplyError extends KubeconnectError {
  override readonly name = "ApplyError";
  /** The result or the error of each object, in the order of the documents. */
  readonly results: readonly (PatchResult | KubeconnectError)[];
  /** The errors alone. Their messages name the objects. */
  readonly errors: readonly KubeconnectError[];

  /**
   * The code, the reason and the causes are those of the first error.
   *
   * @internal
   */
  constructor(
    results: readonly (PatchResult | KubeconnectError)[],
    errors: readonly [KubeconnectError, ...KubeconnectError[]],
  ) {
    const [first] = errors;
    const message = errors.map(({ message }) => message).join("; ");
    const count = `${errors.length} of ${results.length} objects were not applied`;
    super(results.length > 1 ? `${count}: ${message}` : message, first.code, undefined, first);
    Object.assign(this, detailsOf(first));
    this.results = results;
    this.errors = errors;
  }
}

/** The call was cancelled other than by the caller's signal: the client was closed. */
export class CancelledError extends KubeconnectError {
  override readonly name = "CancelledError";
}

/** An internal error of the service or the API server. */
export class InternalError extends KubeconnectError {
  override readonly name = "InternalError";
}

/** The object exists, but its content could not be read, or a change to it was lost. */
export class UnreadableObjectError extends KubeconnectError {
  override readonly name = "UnreadableObjectError";
}

/** Returns what the service has sent with an error, besides the code and the message. */
function detailsOf(error: KubeconnectError) {
  const { reason, causes, omittedCauseCount, retryAfterSeconds, fromService, requestId } = error;
  return { reason, causes, omittedCauseCount, retryAfterSeconds, fromService, requestId };
}

/** Returns the class for a code, or for a reason where one code has several. */
function classOf(code: Code, reason = ""): typeof KubeconnectError {
  if (code === Code.InvalidArgument && reason === "Invalid") return InvalidError;
  if (code === Code.ResourceExhausted && reason === "TooManyRequests") return TooManyRequestsError;
  return classes.get(code) ?? KubeconnectError;
}

const classes: ReadonlyMap<Code, typeof KubeconnectError> = new Map<Code, typeof KubeconnectError>([
  [Code.Aborted, ConflictError],
  [Code.AlreadyExists, AlreadyExistsError],
  [Code.Canceled, CancelledError],
  [Code.DataLoss, UnreadableObjectError],
  [Code.DeadlineExceeded, DeadlineExceededError],
  [Code.Internal, InternalError],
  [Code.InvalidArgument, InvalidArgumentError],
  [Code.NotFound, NotFoundError],
  [Code.OutOfRange, ExpiredError],
  [Code.PermissionDenied, ForbiddenError],
  [Code.ResourceExhausted, ResourceExhaustedError],
  [Code.Unauthenticated, UnauthenticatedError],
  [Code.Unavailable, UnavailableError],
  [Code.Unimplemented, UnimplementedError],
]);
