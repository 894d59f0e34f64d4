import type { KubeValue } from "@kubeconnect/client";
import { eventTime, type Fact, type Finding, type Related, type Summary } from "./types.js";

interface ClaimValue extends KubeValue {
  readonly spec?: {
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly accessModes?: readonly string[];
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
  };
  readonly status?: {
    readonly phase?: string;
    readonly capacity?: Readonly<Record<string, string>>;
  };
}

/** Returns the state of a persistent volume claim, and why it is not bound. */
export function summarizeClaim(value: KubeValue, related: Related = {}): Summary {
  const claim = value as ClaimValue;
  const phase = claim.status?.phase ?? "Pending";
  const tone = phase === "Bound" ? "ok" : phase === "Lost" ? "bad" : "warn";
  const findings = phase === "Bound" ? [] : [claimFinding(claim, phase, related)];
  return { status: { text: phase, tone }, findings, facts: claimFacts(claim) };
}

function claimFinding({ spec }: ClaimValue, phase: string, { warnings = [] }: Related): Finding {
  if (phase === "Lost") {
    return {
      tone: "bad",
      title: `The volume ${spec?.volumeName ?? ""} of the claim does not exist any more`,
    };
  }
  const [failed] = warnings;
  if (failed) {
    const title = "No volume could be provisioned";
    return { tone: "bad", title, detail: failed.message, since: eventTime(failed) };
  }
  if (!spec?.storageClassName) {
    return {
      tone: "warn",
      title: "No volume matches the claim, and it has no storage class that could provision one",
      advice: "Set a storage class, or create a volume that matches.",
    };
  }
  return {
    tone: "warn",
    title: `The claim waits for a volume of the class ${spec.storageClassName}`,
    advice:
      "A class with the binding mode WaitForFirstConsumer waits for a pod that uses the claim.",
  };
}

function claimFacts({ spec = {}, status = {} }: ClaimValue): readonly Fact[] {
  const { storageClassName: storageClass, volumeName } = spec;
  return [
    { name: "Requested", value: spec.resources?.requests?.storage ?? "none" },
    ...(status.capacity?.storage ? [{ name: "Capacity", value: status.capacity.storage }] : []),
    { name: "Access", value: (spec.accessModes ?? []).join(", ") || "none" },
    ...(storageClass
      ? [
          {
            name: "Storage class",
            value: storageClass,
            about: { resource: "storageclasses.storage.k8s.io", name: storageClass },
          },
        ]
      : []),
    ...(volumeName
      ? [
          {
            name: "Volume",
            value: volumeName,
            about: { resource: "persistentvolumes", name: volumeName },
          },
        ]
      : []),
  ];
}
