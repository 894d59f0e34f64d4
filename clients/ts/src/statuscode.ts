import { Code } from "@connectrpc/connect";
import type { Status } from "./gen/kubeconnect/v1/status_pb.js";

/** Returns the code that a call with this error has: by its reason, or else by its HTTP status. */
export function codeOf({ reason, code }: Pick<Status, "reason" | "code">): Code {
  return byReason.get(reason) ?? byHttpStatus.get(code) ?? Code.Unknown;
}

const byReason: ReadonlyMap<string, Code> = new Map([
  ["Unauthorized", Code.Unauthenticated],
  ["Forbidden", Code.PermissionDenied],
  ["NotFound", Code.NotFound],
  ["AlreadyExists", Code.AlreadyExists],
  ["Conflict", Code.Aborted],
  ["Gone", Code.OutOfRange],
  ["Expired", Code.OutOfRange],
  ["Invalid", Code.InvalidArgument],
  ["BadRequest", Code.InvalidArgument],
  ["UnsupportedMediaType", Code.InvalidArgument],
  ["NotAcceptable", Code.InvalidArgument],
  ["RequestEntityTooLarge", Code.ResourceExhausted],
  ["TooManyRequests", Code.ResourceExhausted],
  ["MethodNotAllowed", Code.Unimplemented],
  ["Timeout", Code.DeadlineExceeded],
  ["ServerTimeout", Code.Unavailable],
  ["ServiceUnavailable", Code.Unavailable],
  ["StreamMoved", Code.Unavailable],
  ["InternalError", Code.Internal],
  ["StorageReadError", Code.Internal],
]);

const byHttpStatus: ReadonlyMap<number, Code> = new Map([
  [400, Code.InvalidArgument],
  [401, Code.Unauthenticated],
  [403, Code.PermissionDenied],
  [404, Code.NotFound],
  [405, Code.Unimplemented],
  [406, Code.InvalidArgument],
  [409, Code.Aborted],
  [410, Code.OutOfRange],
  [413, Code.ResourceExhausted],
  [415, Code.InvalidArgument],
  [422, Code.InvalidArgument],
  [429, Code.ResourceExhausted],
  [500, Code.Internal],
  [502, Code.Unavailable],
  [503, Code.Unavailable],
  [504, Code.Unavailable],
]);
