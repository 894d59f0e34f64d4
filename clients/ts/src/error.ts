import { Code, ConnectError } from "@connectrpc/connect";
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
 * The error of all failed calls. A call that was cancelled by the caller's signal fails with the
 * signal's reason instead, like fetch.
 */
export class KubeconnectError extends Error {
  override readonly name = "KubeconnectError";
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

  private constructor(message: string, code: Code, status?: Status, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.reason = status?.reason ?? "";
    this.causes =
      status?.causes.map(({ reason, message, field }) => ({ reason, message, field })) ?? [];
    this.omittedCauseCount = status?.omittedCauseCount ?? 0;
    this.retryAfterSeconds = status?.retryAfterSeconds ?? 0;
    this.fromService = status !== undefined;
  }

  /** Converts the error of a call. The message of the service's Status takes precedence. */
  static from(error: unknown): KubeconnectError {
    if (error instanceof KubeconnectError) {
      return error;
    }
    const connectError = ConnectError.from(error);
    const status = connectError.findDetails(StatusSchema)[0];
    return new KubeconnectError(
      status?.message || connectError.rawMessage,
      connectError.code,
      status,
      connectError,
    );
  }

  /** Returns the same error with another message. */
  withMessage(message: string): KubeconnectError {
    const { code, reason, causes, omittedCauseCount, retryAfterSeconds, fromService } = this;
    const error = new KubeconnectError(message, code, undefined, this);
    return Object.assign(error, {
      reason,
      causes,
      omittedCauseCount,
      retryAfterSeconds,
      fromService,
    });
  }

  /** Returns the error of an object whose content the service could not read. */
  static fromStatus(status: Status): KubeconnectError {
    return new KubeconnectError(status.message, Code.DataLoss, status);
  }

  /** Returns the error of a part of a stream, as that of a call of its own. */
  static ofCall(status: Status): KubeconnectError {
    return new KubeconnectError(status.message, codeOf(status), status);
  }

  /** Returns the error for an unreachable service. */
  static unavailable(message: string): KubeconnectError {
    return new KubeconnectError(message, Code.Unavailable);
  }

  /** Returns the error for a call on a closed client. */
  static closed(): KubeconnectError {
    return new KubeconnectError(closedMessage, Code.Canceled);
  }

  /** Whether the call ended because the client was closed. */
  get isClosed(): boolean {
    return this.code === Code.Canceled && this.message === closedMessage;
  }

  /** Returns the error for a change that is lost, because it cannot be applied. */
  static dataLoss(message: string): KubeconnectError {
    return new KubeconnectError(message, Code.DataLoss);
  }

  /** Returns the error for a message of the service that is invalid for this client. */
  static internal(message: string): KubeconnectError {
    return new KubeconnectError(message, Code.Internal);
  }
}
