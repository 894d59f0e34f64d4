import { KubeconnectError } from "./error.js";
import type { Object$ as ObjectMessage } from "./gen/kubeconnect/v1/object_pb.js";
import { EventType, type Event } from "./gen/kubeconnect/v1/watch_pb.js";
import { keptList } from "./kept.js";
import { KubeObject, type Resource } from "./object.js";

/**
 * The ordered objects of a page. The events of a stream are applied to a copy, which becomes the
 * page when it is complete. It does no I/O.
 */
export class PageObjects<T> {
  #page: readonly KubeObject<T>[] = [];
  /** The page with the changes since; undefined if there are none. */
  #next: KubeObject<T>[] | undefined;

  /** Whether there are changes that are not in the page yet. */
  get incomplete(): boolean {
    return this.#next !== undefined;
  }

  /**
   * Applies an event to the copy. Throws with Code.DataLoss if the event does not apply: the object
   * of a MOVED is unknown, or the index is outside of the page.
   */
  apply(event: Event, resource: Resource): void {
    if (event.type === EventType.RESET) this.#next = [];
    if (event.object === undefined || !changes.has(event.type)) return;
    const next = (this.#next ??= [...this.#page]);
    const earlier = remove(next, event.object);
    if (event.type === EventType.DELETED) return;
    const object = this.#objectOf(event.type, event.object, { earlier, resource });
    const fits = event.index >= 0 && event.index <= next.length;
    if (object === undefined || !fits) {
      throw KubeconnectError.dataLoss(`change of ${event.object.name} does not apply to the page`);
    }
    next.splice(event.index, 0, object);
  }

  /** Makes the copy the page, and returns its objects: the same list if nothing has changed. */
  commit(): readonly KubeObject<T>[] {
    if (this.#next) this.#page = keptList(this.#page, this.#next);
    this.#next = undefined;
    return this.#page;
  }

  /** Discards the copy. */
  revert(): void {
    this.#next = undefined;
  }

  /** Returns the object of an event; an object of the page in the same state remains itself. */
  #objectOf(
    type: EventType,
    message: ObjectMessage,
    { earlier, resource }: { earlier: KubeObject<T> | undefined; resource: Resource },
  ): KubeObject<T> | undefined {
    if (type === EventType.MOVED) return earlier;
    const known = this.#page[indexOf(this.#page, message)];
    return type === EventType.ADDED && known !== undefined && isSameState(known, message)
      ? known
      : new KubeObject<T>(message, resource);
  }
}

/** The types of the events that change a page. */
const changes: ReadonlySet<EventType> = new Set([
  EventType.ADDED,
  EventType.MODIFIED,
  EventType.DELETED,
  EventType.MOVED,
]);

type Name = Pick<ObjectMessage, "namespace" | "name">;

function indexOf(objects: readonly Name[], { namespace, name }: Name): number {
  return objects.findIndex((each) => each.name === name && each.namespace === namespace);
}

/** Removes an object and returns it; undefined if it is not in the list. */
function remove<O extends Name>(objects: O[], name: Name): O | undefined {
  const index = indexOf(objects, name);
  return index < 0 ? undefined : objects.splice(index, 1)[0];
}

function isSameState(
  object: KubeObject<unknown>,
  { uid, resourceVersion }: ObjectMessage,
): boolean {
  return object.uid === uid && object.resourceVersion === resourceVersion;
}
