import { Code, ConnectError } from "@connectrpc/connect";
import { StatusSchema, type Status } from "./gen/kubeconnect/v1/status_pb.js";

/** One cause of an error, such as a field that a validation refused. */
export interface StatusCause {
  /** For programs, such as "FieldValueRequired". */
  readonly reason: string;
  /** For people. */
  readonly message: string;
  /** The JSON path of the field, such as "spec.replicas". */
  readonly field: string;
}

/**
 * The one error that calls fail with. A call that the caller's own signal ended
 * fails with that signal's reason instead, as fetch does.
 */
export class KubeconnectError extends Error {
  override readonly name = "KubeconnectError";
  /** The code of the RPC. */
  readonly code: Code;
  /** Kubernetes' own reason, such as "AlreadyExists"; empty where there is none. */
  readonly reason: string;
  readonly causes: readonly StatusCause[];
  /** How many causes the service left out: it bounds the size of an error. */
  readonly omittedCauses: number;
  /** When to try again; 0 where nobody has said. */
  readonly retryAfterSeconds: number;

  private constructor(message: string, code: Code, status?: Status, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.reason = status?.reason ?? "";
    this.causes =
      status?.causes.map(({ reason, message, field }) => ({ reason, message, field })) ?? [];
    this.omittedCauses = status?.omittedCauses ?? 0;
    this.retryAfterSeconds = status?.retryAfterSeconds ?? 0;
  }

  /** What a call failed with; what the service has to say about it comes first. */
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

  /** The same error in other words. */
  withMessage(message: string): KubeconnectError {
    const { code, reason, causes, omittedCauses, retryAfterSeconds } = this;
    const error = new KubeconnectError(message, code, undefined, this);
    return Object.assign(error, { reason, causes, omittedCauses, retryAfterSeconds });
  }

  /** An object whose content the service could not read. */
  static fromStatus(status: Status): KubeconnectError {
    return new KubeconnectError(status.message, Code.DataLoss, status);
  }

  /** The service cannot be heard. */
  static unavailable(message: string): KubeconnectError {
    return new KubeconnectError(message, Code.Unavailable);
  }

  /** The service sent what this client does not understand. */
  static internal(message: string): KubeconnectError {
    return new KubeconnectError(message, Code.Internal);
  }
}
