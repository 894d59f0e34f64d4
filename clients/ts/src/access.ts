import type { MessageInitShape } from "@bufbuild/protobuf";
import { KubeconnectError } from "./error.js";
import type {
  CheckAccessRequestSchema,
  CheckAccessResponse,
} from "./gen/kubeconnect/v1/access_service_pb.js";

/** An action that the caller might want to perform. */
export interface AccessCheck {
  /**
   * The Kubernetes verb: "get", "list", "watch", "create", "update", "patch", "delete",
   * "deletecollection".
   */
  readonly verb: string;
  /** The resource, named as in kubectl. */
  readonly resource: string;
  /** A subresource, such as "status". Default: the object itself. */
  readonly subresource?: string | undefined;
  /** Default: all namespaces, or a cluster-scoped resource. */
  readonly namespace?: string | undefined;
  /** Default: any name. */
  readonly name?: string | undefined;
}

/** The cluster's decision of one check. */
export interface AccessDecision {
  /** Whether the caller is allowed to perform the action. */
  readonly allowed: boolean;
  /** The cluster's reason for the decision; often empty. */
  readonly reason: string;
}

/** Returns the request message of a check of permissions. */
export function checkAccessRequest(
  checks: readonly AccessCheck[],
): MessageInitShape<typeof CheckAccessRequestSchema> {
  return {
    checks: checks.map(({ verb, resource, subresource = "", namespace = "", name = "" }) => ({
      verb,
      resource,
      subresource,
      namespace,
      name,
    })),
  };
}

/** Converts the decisions, of which there must be one for each check. */
export function accessDecisionsFrom(
  { decisions }: CheckAccessResponse,
  count: number,
): readonly AccessDecision[] {
  if (decisions.length !== count) {
    throw KubeconnectError.internal(
      `invalid response: ${decisions.length} decisions for ${count} checks`,
    );
  }
  return decisions.map(({ allowed, reason }) => ({ allowed, reason }));
}
