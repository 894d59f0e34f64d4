export { Code } from "@connectrpc/connect";

export type { BearerToken } from "../bearer.js";
export type { ObjectName } from "../object.js";
export {
  Containers,
  type ConnectionOptions,
  type ExecOptions,
  type ExecResult,
  type SessionOptions,
} from "./containers.js";
export { PortStream } from "./portstream.js";
export { ContainerSession, type OutputChunk } from "./session.js";
