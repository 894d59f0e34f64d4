import { create } from "@bufbuild/protobuf";
import { KubeconnectError } from "./error.js";
import type { Object$ as ObjectMessage } from "./gen/kubeconnect/v1/object_pb.js";
import {
  EventSchema,
  EventType,
  PatchType,
  type Event,
} from "./gen/kubeconnect/v1/resource_service_pb.js";
import { keyOf } from "./object.js";

/**
 * The objects that a watch has delivered, to which the service's patches are applied. Create one
 * for each watch and pass it as `patches`, the same instance each time the watch is resumed. The
 * service then sends changed objects as patches, and the events still have complete objects.
 *
 *     const patches = new HeldObjects();
 *     const open = (signal: AbortSignal, resumeToken: string) =>
 *       client.watch("pods", {}, { signal, resumeToken, patches }).batches();
 */
export class HeldObjects {
  readonly #objects = new Map<string, ObjectMessage>();
  /** The token that the objects correspond to; undefined if unknown. */
  #resumeToken: string | undefined;

  /**
   * Begins a stream, and returns whether it may receive patches: a stream that begins with a
   * snapshot, or that resumes at the token that the objects correspond to.
   */
  begin(resumeToken: string): boolean {
    const known = resumeToken === "" || resumeToken === this.#resumeToken;
    if (resumeToken === "" || !known) this.#objects.clear();
    this.#resumeToken = undefined;
    return known;
  }

  /** Returns the events of a message with complete objects. `resumeToken` resumes after it. */
  whole(events: readonly Event[], resumeToken: string): Event[] {
    this.#resumeToken = undefined; // until all events have been applied
    const complete = events.map((event) => this.#take(event));
    this.continues(resumeToken);
    return complete;
  }

  /** Records that the objects correspond to this token, too. */
  continues(resumeToken: string): void {
    this.#resumeToken = resumeToken;
  }

  #take(event: Event): Event {
    if (event.type === EventType.RESET) this.#objects.clear();
    if (event.object === undefined) return event;
    const key = keyOf(event.object);
    const isComplete = event.patch === PatchType.UNSPECIFIED;
    const object = isComplete
      ? event.object
      : patched(this.#objects.get(key), event.object, event.patch);
    if (event.type === EventType.DELETED) this.#objects.delete(key);
    else this.#objects.set(key, object);
    return isComplete
      ? event
      : create(EventSchema, { ...event, object, patch: PatchType.UNSPECIFIED });
  }
}

function patched(
  cached: ObjectMessage | undefined,
  object: ObjectMessage,
  type: PatchType,
): ObjectMessage {
  if (type !== PatchType.JSON) {
    throw KubeconnectError.internal(`patch of ${object.name} has a type that was not requested`);
  }
  if (
    cached?.uid !== object.uid ||
    cached.content.case !== "json" ||
    object.content.case !== "json"
  ) {
    throw KubeconnectError.internal(`patch of ${object.name}, which is not cached`);
  }
  try {
    const content = parse(cached.content.value);
    applyPatch(content, parse(object.content.value));
    const value = new TextEncoder().encode(JSON.stringify(content));
    return { ...object, content: { case: "json", value } };
  } catch (error) {
    const { message } = error as Error;
    throw KubeconnectError.internal(`patch of ${object.name} does not apply: ${message}`);
  }
}

/**
 * Applies a JSON patch (RFC 6902) of "add", "remove" and "replace" to a value, in place.
 *
 * @throws Error at the first operation that does not apply.
 */
export function applyPatch(target: unknown, operations: unknown): void {
  if (!Array.isArray(operations)) throw new Error("not a list of operations");
  for (const operation of operations as unknown[]) {
    if (!isOperation(operation)) throw new Error("an operation is not add, remove or replace");
    const { op, path, value } = operation;
    const [container, key] = find(target, path, op === "add");
    if (Array.isArray(container)) {
      container.splice(Number(key), op === "add" ? 0 : 1, ...(op === "remove" ? [] : [value]));
    } else if (op === "remove") {
      Reflect.deleteProperty(container, key);
    } else {
      const member = { value, configurable: true, enumerable: true, writable: true };
      Object.defineProperty(container, key, member); // the name may be __proto__
    }
  }
}

interface Operation {
  readonly op: "add" | "remove" | "replace";
  readonly path: string;
  readonly value?: unknown;
}

function isOperation(value: unknown): value is Operation {
  if (!isObject(value)) return false;
  const { op, path, value: operand } = value;
  const known = op === "remove" || ((op === "add" || op === "replace") && operand !== undefined);
  return known && typeof path === "string";
}

/** Returns the object or list that contains the target of a path (RFC 6901), and the key in it. */
function find(target: unknown, path: string, adding: boolean): [container: Container, key: string] {
  if (!/^(\/([^/~]|~[01])*)+$/.test(path)) throw new Error(`"${path}" is not a path`);
  const names = path.slice(1).split("/");
  const key = unescaped(names.pop() ?? "");
  let container = target;
  for (const name of names.map(unescaped)) {
    container = isKey(container, name) ? container[name] : undefined;
  }
  if (!isKey(container, key, adding)) throw new Error(`path "${path}" does not exist`);
  return [container, key];
}

function unescaped(name: string): string {
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}

/**
 * Returns whether `name` is a member of an object or an index of a list. With `adding`, also
 * whether it can be added.
 */
function isKey(container: unknown, name: string, adding = false): container is Container {
  if (!Array.isArray(container))
    return isObject(container) && (adding || Object.hasOwn(container, name));
  return /^(0|[1-9][0-9]*)$/.test(name) && Number(name) < container.length + Number(adding);
}

/** An object, or a list by its indices. */
type Container = Record<string, unknown>;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parse(text: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(text));
}
