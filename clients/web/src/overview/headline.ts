/** What the answer is made of. Numbers are undefined if they may not be read. */
export interface Findings {
  /** Whether everything was read. */
  readonly isComplete: boolean;
  /** Whether the caller may read all of it, some of it, or nothing. */
  readonly readable: "all" | "some" | "nothing";
  /** Whether it is true at this time. */
  readonly isCurrent: boolean;
  /** The numbers of workloads, pods, and nodes with a problem. */
  readonly workloads: number;
  readonly podsWithReason: number;
  readonly nodes: number;
  /** The numbers of all pods and nodes. */
  readonly pods: number | undefined;
  readonly allNodes: number | undefined;
}

/** Returns whether the cluster is well, in one line. */
export function headline(findings: Findings): {
  readonly tone: "ok" | "warn" | "neutral";
  readonly text: string;
} {
  const { workloads, podsWithReason, nodes, pods, allNodes } = findings;
  if (findings.readable === "nothing") {
    return { tone: "neutral", text: "You may not read what this page shows." };
  }
  if (!findings.isComplete) return { tone: "neutral", text: "Reading the state of the cluster…" };
  const problems = [
    workloads > 0 && counted(workloads, "workload is not ready", "workloads are not ready"),
    podsWithReason > 0 && counted(podsWithReason, "pod is failing", "pods are failing"),
    nodes > 0 && counted(nodes, "node has a problem", "nodes have problems"),
  ].filter((each) => each !== false);
  const past = findings.isCurrent ? "" : " (as last seen)";
  if (problems.length > 0) return { tone: "warn", text: `${problems.join(", ")}${past}.` };
  const all = [
    pods !== undefined && counted(pods, "pod", "pods"),
    allNodes !== undefined && counted(allNodes, "node", "nodes"),
  ].filter((each) => each !== false);
  const of = all.length > 0 ? `: ${all.join(" on ")}` : "";
  const what = findings.readable === "all" ? "All" : "What you may read";
  return { tone: findings.isCurrent ? "ok" : "neutral", text: `${what} is well${past}${of}.` };
}

function counted(number: number, one: string, many: string): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}
