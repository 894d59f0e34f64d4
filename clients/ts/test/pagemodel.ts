import type { MessageInitShape } from "@bufbuild/protobuf";
import { EventType, type EventSchema } from "../src/proto.js";
import { pod } from "./fixture.js";

/** An object of the model. A recreated object has another UID. */
export interface ModelObject {
  readonly name: string;
  readonly uid: string;
  readonly version: number;
  readonly rank: number;
}

export type ModelEvent = MessageInitShape<typeof EventSchema>;

/**
 * Returns the events that lead from a page to another one, by the rule of the service: deletions
 * first, the last one first; then each event has the index at which the object is inserted, after
 * it was removed from its earlier place.
 */
export function eventsBetween(
  before: readonly ModelObject[],
  after: readonly ModelObject[],
): ModelEvent[] {
  const isIn = (page: readonly ModelObject[], { uid }: ModelObject): boolean =>
    page.some((each) => each.uid === uid);
  const places = before.filter((object) => isIn(after, object));
  const deleted = before.flatMap((object, index) => (isIn(after, object) ? [] : [index]));
  return [
    ...deleted.reverse().map((index) => ({ type: EventType.DELETED, index })),
    ...after.flatMap((object, index) => placed(places, object, index) ?? []),
  ];
}

/** Puts an object at its index. Returns its event; undefined if nothing has changed. */
function placed(places: ModelObject[], object: ModelObject, index: number): ModelEvent | undefined {
  const last = places.findIndex(({ uid }) => uid === object.uid);
  const [earlier] = last < 0 ? [] : places.splice(last, 1);
  places.splice(index, 0, object);
  if (earlier === undefined) return eventOf(EventType.ADDED, object, index);
  if (earlier.version !== object.version) return eventOf(EventType.MODIFIED, object, index);
  return last === index ? undefined : eventOf(EventType.MOVED, object, index);
}

function eventOf(type: EventType, { name, uid, version }: ModelObject, index: number): ModelEvent {
  const object = pod(name, `${version}`, uid);
  const head = { ...object, content: { case: undefined } };
  return { type, index, object: type === EventType.MOVED ? head : object };
}

/** A generator of the same random numbers in each run (mulberry32). */
export function randomOf(seed: number): (limit: number) => number {
  return (limit) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

/** A sorted selection that changes at random. */
export class ModelSelection {
  readonly #random: (limit: number) => number;
  #objects: readonly ModelObject[] = [];
  #version = 0;

  constructor(random: (limit: number) => number) {
    this.#random = random;
  }

  get version(): number {
    return this.#version;
  }

  get total(): number {
    return this.#objects.length;
  }

  /** The objects from an offset. */
  page(offset: number, limit: number): readonly ModelObject[] {
    return this.#objects.slice(offset, offset + limit);
  }

  /** The number of objects up to and including one; undefined if it does not exist. */
  offsetAfter(name: string): number | undefined {
    const index = this.#objects.findIndex((object) => object.name === name);
    return index < 0 ? undefined : index + 1;
  }

  /** Creates, deletes or changes an object; most changes of a rank move it. */
  change(): void {
    const random = this.#random;
    const version = ++this.#version;
    const name = `p${random(30)}`;
    const known = this.#objects.find((object) => object.name === name);
    const others = this.#objects.filter((object) => object !== known);
    const rank = random(3) > 0 ? random(50) : (known?.rank ?? 0);
    const fresh = { name, uid: `${name}-${version}`, version, rank };
    const changed = known === undefined || random(6) === 0 ? fresh : { ...known, version, rank };
    const isDeleted = known !== undefined && random(3) === 0;
    this.#objects = (isDeleted ? others : [...others, changed]).sort(
      (a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1),
    );
  }
}
