import { KubeconnectError } from "./error.js";
import type { Object$ as ObjectMessage } from "./gen/kubeconnect/v1/object_pb.js";
import { EventType, type Event } from "./gen/kubeconnect/v1/watch_pb.js";
import { keptList } from "./kept.js";
import { required } from "./message.js";
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
   * Applies an event to the copy. Throws with Code.DataLoss if the event does not apply: its index
   * is outside of the page, or the object of a MOVED is not in the page.
   */
  apply({ type, object, index }: Event, resource: Resource): void {
    switch (type) {
      case EventType.RESET:
        this.#next = [];
        break;
      case EventType.DELETED:
        if (this.#copy().splice(index, 1).length === 0) throw doesNotApply("a deletion");
        break;
      case EventType.ADDED:
      case EventType.MODIFIED:
      case EventType.MOVED:
        this.#place(this.#objectOf(type, required(object, "the object"), resource), index);
        break;
    }
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

  #copy(): KubeObject<T>[] {
    return (this.#next ??= [...this.#page]);
  }

  /** Removes an object from its place, and inserts it at another one. */
  #place(object: KubeObject<T>, index: number): void {
    const copy = this.#copy();
    const earlier = indexOf(copy, object);
    if (earlier >= 0) copy.splice(earlier, 1);
    if (index > copy.length) throw doesNotApply(`the place of ${object.name}`);
    copy.splice(index, 0, object);
  }

  /**
   * Returns the object of an event. An object in a state that the page has is that of the page,
   * unless it has related objects, which may have changed.
   */
  #objectOf(type: EventType, message: ObjectMessage, resource: Resource): KubeObject<T> {
    if (type === EventType.MOVED) {
      const copy = this.#copy();
      const moved = copy[indexOf(copy, message)];
      if (moved === undefined) throw doesNotApply(`the place of ${message.name}`);
      return moved;
    }
    const known = this.#page[indexOf(this.#page, message)];
    return type === EventType.ADDED && known !== undefined && isSameState(known, message)
      ? known
      : new KubeObject<T>(message, resource);
  }
}

type Name = Pick<ObjectMessage, "namespace" | "name">;

function indexOf(objects: readonly Name[], { namespace, name }: Name): number {
  return objects.findIndex((each) => each.name === name && each.namespace === namespace);
}

function isSameState(
  object: KubeObject<unknown>,
  { uid, resourceVersion, joined }: ObjectMessage,
): boolean {
  return object.uid === uid && object.resourceVersion === resourceVersion && joined.length === 0;
}

function doesNotApply(change: string): KubeconnectError {
  return KubeconnectError.dataLoss(
    `the page does not match the service's: ${change} does not apply`,
  );
}
