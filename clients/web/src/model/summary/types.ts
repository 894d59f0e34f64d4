import type { KubeValue, ObjectName } from "@kubeconnect/client";
import type { Tone } from "../../model/tone.js";

/** Another object that the page can open. */
export interface Reference extends ObjectName {
  readonly resource: string;
}

/** One thing that a person should know about an object, such as why a pod is not ready. */
export interface Finding {
  readonly tone: Tone;
  readonly title: string;
  /** The message of the component that has found it. */
  readonly detail?: string | undefined;
  /** What to do about it. */
  readonly advice?: string | undefined;
  /** RFC 3339. */
  readonly since?: string | undefined;
  readonly about?: Reference | undefined;
}

/** A field of an object that a person looks for first. */
export interface Fact {
  readonly name: string;
  readonly value: string;
  readonly about?: Reference | undefined;
}

/** The state of an object in the terms of people. */
export interface Summary {
  readonly status: { readonly text: string; readonly tone: Tone };
  readonly findings: readonly Finding[];
  readonly facts: readonly Fact[];
}

/** A condition of the status of most kinds. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string | null;
}

/** What other objects say about an object. What the caller may not read is left out. */
export interface Related {
  /** The latest events of type Warning about the object. */
  readonly warnings?: readonly EventValue[] | undefined;
  /** The node of a pod. */
  readonly node?: KubeValue | undefined;
  /** The claims of a pod's volumes. */
  readonly claims?: readonly KubeValue[] | undefined;
  /** The replica sets of a deployment. */
  readonly replicaSets?: readonly KubeValue[] | undefined;
  /** The pods of a workload that are not ready, some of them. */
  readonly failingPods?: readonly KubeValue[] | undefined;
  /** The endpoint slices of a service. */
  readonly endpointSlices?: readonly KubeValue[] | undefined;
}

/** The used fields of an event. */
export interface EventValue extends KubeValue {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
}

/** Returns the time at which an event has last happened. */
export function eventTime(event: EventValue): string {
  const { series, lastTimestamp, eventTime: time, metadata } = event;
  return series?.lastObservedTime || lastTimestamp || time || metadata.creationTimestamp;
}

/** Returns the number of times that an event has happened. */
export function eventCount({ series, count }: EventValue): number {
  return series?.count ?? count ?? 1;
}

/** Returns "1 pod", "2 pods". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
