import type { AccessCheck, AccessDecision } from "@kubeconnect/client";

/** Returns why the caller may not do all of several things; undefined if all are allowed. */
export function refusalOf(
  checks: readonly AccessCheck[],
  decisions: readonly AccessDecision[],
): string | undefined {
  const index = decisions.findIndex((each) => !each.allowed);
  const check = checks[index];
  if (!check) return undefined;
  const { verb, resource, subresource, namespace } = check;
  const what = `${verb} ${resource}${subresource ? `/${subresource}` : ""}`;
  const where = namespace ? ` in ${namespace}` : "";
  const reason = decisions[index]?.reason;
  return `You are not allowed to ${what}${where}${reason ? `: ${reason}` : ""}`;
}
