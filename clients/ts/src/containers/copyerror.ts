import { Code } from "@connectrpc/connect";
import { KubeconnectError } from "../error.js";
import type { ExecResult } from "./containers.js";

/**
 * Files could not be copied, because tar failed in the container, or because its archive is invalid or
 * has a path that leaves the target.
 */
export class CopyError extends KubeconnectError {
  override readonly name = "CopyError";
  /** The exit code of tar. */
  readonly exitCode: number;
  /** What tar has printed to its standard error, of which the first 64 KiB are kept. */
  readonly stderr: Uint8Array;

  /** @internal */
  constructor(
    message: string,
    { exitCode, stderr }: Failed = { exitCode: 0, stderr: new Uint8Array() },
  ) {
    super(message, Code.FailedPrecondition);
    this.exitCode = exitCode;
    this.stderr = stderr;
  }
}

type Failed = Pick<ExecResult, "exitCode" | "stderr">;

/** Returns the error for a tar that has failed. */
export function copyFailed(result: Failed): CopyError {
  const printed = new TextDecoder().decode(result.stderr).trim();
  const message = `tar ended with exit code ${result.exitCode} in the container`;
  return new CopyError(printed === "" ? message : `${message}: ${printed}`, result);
}
