import type { KubeValue } from "@kubeconnect/client";
import { stringify } from "yaml";
import { omit } from "../model/omit.js";
import { isRecord } from "./path.js";

/** Returns an object as YAML, without the fields of managers unless they are wanted. */
export function toYaml(value: unknown, { managedFields = false } = {}): string {
  const ordered = isRecord(value) ? inUsualOrder(value) : value;
  const shown = managedFields || !isRecord(ordered) ? ordered : withoutManagedFields(ordered);
  return stringify(shown, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** Returns an object with the fields first that people expect there. */
function inUsualOrder(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const first = ["apiVersion", "kind", "metadata"].filter((name) => name in value);
  return { ...Object.fromEntries(first.map((name) => [name, value[name]])), ...value };
}

function withoutManagedFields(value: Readonly<Record<string, unknown>>): unknown {
  if (!isRecord(value.metadata)) return value;
  return { ...value, metadata: omit(value.metadata, "managedFields") };
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";
const hidden = "••••••";

/** Whether an object has values that must not be shown unasked. */
export function isSecret({ kind, apiVersion }: KubeValue): boolean {
  return kind === "Secret" && apiVersion === "v1";
}

/** Returns a secret without its values, also without those that kubectl has left in an annotation. */
export function withoutSecrets(value: KubeValue): KubeValue {
  const hideValues = (data: unknown): unknown =>
    isRecord(data) ? mapValues(data, () => hidden) : data;
  const shown = { ...value };
  for (const field of ["data", "stringData"]) {
    if (field in value) shown[field] = hideValues(value[field]);
  }
  const { annotations } = value.metadata;
  if (!annotations?.[lastApplied]) return shown;
  const metadata = { ...value.metadata, annotations: { ...annotations, [lastApplied]: hidden } };
  return { ...shown, metadata };
}

/** Returns the values of a secret as text; undefined for one that is not text. */
export function decodedSecret({
  data,
}: KubeValue): readonly (readonly [string, string | undefined])[] {
  if (!isRecord(data)) return [];
  return Object.entries(data).map(([name, value]) => [name, decodeText(String(value))] as const);
}

function decodeText(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function mapValues(record: Readonly<Record<string, unknown>>, map: (value: unknown) => unknown) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}
