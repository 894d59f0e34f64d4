import { create } from "@bufbuild/protobuf";
import { KubeconnectError } from "./error.js";
import type { Object$ as ObjectMessage } from "./gen/kubeconnect/v1/object_pb.js";
import { EventSchema, EventType, PatchFormat, type Event } from "./gen/kubeconnect/v1/watch_pb.js";
import { applyPatch } from "./jsonpatch.js";
import { keyOf, mayBeSame } from "./objectstate.js";

/** The objects that a watch has delivered, to which later patches are applied. */
export class ObjectCache {
  readonly #objects = new Map<string, ObjectMessage>();

  /**
   * Returns an event with its complete object, and caches the object. Throws with Code.DataLoss
   * if the object of a patch is not cached, or the patch does not apply to it.
   */
  complete(event: Event): Event {
    if (event.type === EventType.RESET) this.#objects.clear();
    if (event.object === undefined) return event;
    const key = keyOf(event.object);
    const isComplete = event.patchFormat === PatchFormat.UNSPECIFIED;
    const object = isComplete
      ? event.object
      : patched(this.#objects.get(key), event.object, event.patchFormat);
    if (event.type !== EventType.DELETED) this.#objects.set(key, object);
    else if (mayBeSame(this.#objects.get(key) ?? object, object)) this.#objects.delete(key);
    return isComplete
      ? event
      : create(EventSchema, { ...event, object, patchFormat: PatchFormat.UNSPECIFIED });
  }
}

function patched(
  cached: ObjectMessage | undefined,
  object: ObjectMessage,
  format: PatchFormat,
): ObjectMessage {
  if (format !== PatchFormat.JSON) {
    throw KubeconnectError.dataLoss(`patch of ${object.name} has a format that was not requested`);
  }
  if (
    cached?.uid !== object.uid ||
    cached.content.case !== "json" ||
    object.content.case !== "json"
  ) {
    throw KubeconnectError.dataLoss(`patch of ${object.name}, which is not cached`);
  }
  try {
    const content = parse(cached.content.value);
    applyPatch(content, parse(object.content.value));
    const value = new TextEncoder().encode(JSON.stringify(content));
    return { ...object, content: { case: "json", value } };
  } catch (error) {
    const { message } = error as Error;
    throw KubeconnectError.dataLoss(`patch of ${object.name} does not apply: ${message}`);
  }
}

function parse(text: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(text));
}
