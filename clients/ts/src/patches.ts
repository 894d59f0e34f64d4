import { create } from "@bufbuild/protobuf";
import { KubeconnectError } from "./error.js";
import type { Object$ as ObjectMessage } from "./gen/kubeconnect/v1/object_pb.js";
import { EventSchema, EventType, type Event } from "./gen/kubeconnect/v1/resource_service_pb.js";
import { keyOf } from "./object.js";

/**
 * What a watch has told, for a service that sends of a changed object only what has
 * changed. Make one for each watch and give it as `patches`, the same one each time that
 * watch is resumed: what comes out are whole objects all the same.
 *
 *     const patches = new HeldObjects();
 *     const open = (signal: AbortSignal, resumeToken: string) =>
 *       client.watch("pods", {}, { signal, resumeToken, patches }).batches();
 */
export class HeldObjects {
  readonly #objects = new Map<string, ObjectMessage>();
  /** Where these are what the caller holds; undefined where that is nowhere. */
  #resumeToken: string | undefined;

  /**
   * Whether a stream that begins there may be sent patches: one from the beginning, and
   * one that goes on where these objects are.
   */
  begin(resumeToken: string): boolean {
    const known = resumeToken === "" || resumeToken === this.#resumeToken;
    if (resumeToken === "" || !known) this.#objects.clear();
    this.#resumeToken = undefined;
    return known;
  }

  /** The events of a message with their objects whole. Behind it that token continues. */
  whole(events: readonly Event[], resumeToken: string): Event[] {
    const whole = events.map((event) => this.#take(event));
    this.continues(resumeToken);
    return whole;
  }

  /** Notes that this token, too, continues where these objects are. */
  continues(resumeToken: string): void {
    this.#resumeToken = resumeToken;
  }

  #take(event: Event): Event {
    if (event.type === EventType.RESET) this.#objects.clear();
    if (event.object === undefined) return event;
    const key = keyOf(event.object);
    const object = event.patch ? patched(this.#objects.get(key), event.object) : event.object;
    if (event.type === EventType.DELETED) this.#objects.delete(key);
    else this.#objects.set(key, object);
    return event.patch ? create(EventSchema, { ...event, object, patch: false }) : event;
  }
}

function patched(held: ObjectMessage | undefined, object: ObjectMessage): ObjectMessage {
  if (held?.uid !== object.uid || held.content.case !== "json" || object.content.case !== "json") {
    throw KubeconnectError.internal(`a patch to ${object.name}, which is not held`);
  }
  const whole = mergePatch(parse(held.content.value), parse(object.content.value));
  const value = new TextEncoder().encode(JSON.stringify(whole));
  return { ...object, content: { case: "json", value } };
}

/** What a JSON merge patch (RFC 7386) makes of a value. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, mergePatch(members.get(name), value));
  }
  return Object.fromEntries(members); // a member may be called __proto__
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parse(text: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(text));
}
