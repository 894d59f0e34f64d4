/**
 * What the compiler infers from the names of resources. This file is compiled with the tests, and
 * fails to compile if an inference changes.
 */
/* eslint-disable @typescript-eslint/no-unnecessary-type-parameters -- they are what is compared */
import type { Client, KubeObject, KubeValue, Manifest, ObjectOf } from "@kubeconnect/client";
import type { Deployment } from "@kubeconnect/client/k8s/apps/v1";
import type { HorizontalPodAutoscaler } from "@kubeconnect/client/k8s/autoscaling/v2";
import type { Event, Pod } from "@kubeconnect/client/k8s/core/v1";
import type { IntOrString, ObjectMeta, Quantity } from "@kubeconnect/client/k8s/meta/v1";
import { useList, useLivePage, useResource } from "@kubeconnect/client/react";

interface Widget {
  metadata: { name: string };
  spec: { size: number };
}

declare module "@kubeconnect/client" {
  interface ResourceTypes {
    "widgets.example.com": Widget;
  }
}

/** Whether two types are the same. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles if the type of a value is exactly `T`. */
function expectType<T>() {
  return <V>(value: V, ...same: Same<T, V> extends true ? [] : ["another type"]): unknown[] => [
    value,
    ...same,
  ];
}

const name = { namespace: "default", name: "web" };

/** The names of resources have the types of their objects. */
export async function reads(client: Client, anyName: string): Promise<void> {
  const pod = await client.get("pods", name);
  expectType<Pod>()(pod.value);
  expectType<string>()(pod.value.metadata.name);
  expectType<string>()(pod.value.metadata.uid);
  expectType<string | undefined>()(pod.value.spec?.nodeName);
  expectType<Pod>()((await client.get("po", name)).value);
  expectType<Deployment>()((await client.get("deployments.apps", name)).value);
  expectType<Deployment>()((await client.get("deployments.v1.apps", name)).value);
  expectType<HorizontalPodAutoscaler>()((await client.get("hpa", name)).value);
  expectType<Event>()((await client.get("events", name)).value);
  expectType<Widget>()((await client.get("widgets.example.com", name)).value);
  expectType<KubeValue>()((await client.get("gadgets.example.com", name)).value);
  expectType<KubeValue>()((await client.get(anyName, name)).value);
  // @ts-expect-error: the assertion itself: a pod is not a deployment
  expectType<Deployment>()(pod.value);
  // @ts-expect-error: a pod has no such field
  expectType<undefined>()(pod.value.spek);
}

/** All methods infer the type. */
export async function methods(client: Client): Promise<void> {
  expectType<KubeObject<Pod>[]>()([...(await client.list("pods").all()).objects]);
  for await (const each of client.list("pods")) expectType<KubeObject<Pod>>()(each);
  for await (const event of client.watch("pods", { namespace: "default" })) {
    if (event.type === "ADDED") expectType<Pod>()(event.object.value);
  }
  const store = client.store("pods", { indexes: { node: (pod) => [pod.spec?.nodeName ?? ""] } });
  expectType<KubeObject<Pod> | undefined>()(store.get(name));
  for (const item of client.livePage("deployments").items) expectType<Deployment>()(item.value);
  for await (const [watch, event] of client.watchMany({
    pods: { resource: "pods" },
    apps: { resource: "deployments.apps", namespace: "default" },
  })) {
    if (event.type !== "ADDED") continue;
    if (watch === "pods") expectType<Pod>()(event.object.value);
    else expectType<Deployment>()(event.object.value);
  }
  const patch = { type: "merge", body: { spec: { replicas: 2 } } } as const;
  expectType<Deployment>()((await client.patch("deploy", name, patch)).object.value);
  expectType<Pod | undefined>()((await client.delete("pod", name)).object?.value);
}

/** The hooks infer it too. */
export function useHooks(resource: "pods" | undefined): void {
  expectType<readonly KubeObject<Pod>[]>()(useList(resource).objects);
  expectType<KubeObject<Deployment> | undefined>()(useResource("deploy", name).object);
  expectType<readonly KubeObject<Pod>[]>()(useLivePage("po").items);
  expectType<readonly KubeObject<Widget>[]>()(useList<Widget>("pods").objects);
  expectType<readonly KubeObject[]>()(useList("gadgets.example.com").objects);
}

/** A type argument takes precedence over the name of the resource. */
export async function explicit(client: Client, anyBody: object): Promise<void> {
  expectType<Widget>()((await client.get<Widget>("pods", name)).value);
  expectType<readonly KubeObject<Widget>[]>()((await client.list<Widget>("pods").all()).objects);
  expectType<Widget>()((await client.update<Widget>("pods", { spec: { size: 1 } })).object.value);
  for await (const [, event] of client.watchMany<{ a: Widget }>({ a: { resource: "pods" } })) {
    if (event.type === "ADDED") expectType<Widget>()(event.object.value);
  }
  // @ts-expect-error: a Widget has a size
  await client.create<Widget>("pods", { spec: {} });
  await client.create("gadgets.example.com", anyBody);
}

/** A subresource other than "status" has objects of another kind. */
export async function subresources(client: Client): Promise<void> {
  const scale = { subresource: "scale" };
  expectType<KubeValue>()((await client.get("deployments", name, scale)).value);
  expectType<Deployment>()(
    (await client.get("deployments", name, { subresource: "status" })).value,
  );
  expectType<KubeValue>()((await client.update("deployments", {}, scale)).object.value);
  await client.create("pods", { kind: "Eviction" }, { ...name, subresource: "eviction" });
}

/** A manifest has what is needed to create an object, and an object that was read is one. */
export async function writes(client: Client, object: KubeObject<Pod>): Promise<void> {
  const containers = [{ name: "web", image: "nginx", resources: { limits: { cpu: "500m" } } }];
  const created = await client.create("pods", { metadata: { name: "web" }, spec: { containers } });
  expectType<Pod>()(created.object.value);
  await client.create("pods", {
    kind: "Pod",
    metadata: { generateName: "web-" },
    spec: { containers },
  });
  await client.create("pods", "kind: Pod");
  await client.update("pods", object);
  const { metadata, spec } = object.value;
  if (spec) await client.update("pods", { metadata: { ...metadata, labels: { a: "b" } }, spec });
  const manifest: Manifest<Pod> = { metadata: { name: "web" }, spec: { containers } };
  await client.create("pods", manifest, { namespace: "default" });
  // @ts-expect-error: a container has a name
  await client.create("pods", { spec: { containers: [{}] } });
  // @ts-expect-error: the kind of a pod
  await client.create("pods", { kind: "Deployment" });
  // @ts-expect-error: no field of a pod
  await client.update("pods", { spek: {} });
  // @ts-expect-error: a deployment has a template
  await client.create("deployments", { spec: { selector: {} } });
}

/** A function for objects of any kind accepts those of a known one. */
export function anyKind(pod: KubeObject<Pod>, print: (object: KubeObject) => void): void {
  print(pod);
}

/** The types of the values within objects. */
export function values(pod: ObjectOf<"pods">, template: ObjectMeta): void {
  expectType<string>()(pod.metadata.creationTimestamp);
  expectType<string | undefined>()(template.name);
  const quantities: Quantity[] = ["1Gi"];
  const ports: IntOrString[] = [80, "http"];
  expectType<(number | string)[]>()([...quantities, ...ports]);
}
