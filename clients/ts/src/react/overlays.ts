import { create, type JsonObject } from "@bufbuild/protobuf";
import type { Client } from "../client.js";
import { ObjectSchema } from "../gen/kubeconnect/v1/object_pb.js";
import { keptList } from "../kept.js";
import { callListener } from "../listener.js";
import { KubeObject, type KubeValue, type ObjectName, type Resource } from "../object.js";
import { newest } from "../version.js";

/** A change of an object that is shown before the watch brings it. */
export interface Optimistic<T = KubeValue> {
  /**
   * The resource of the object: its plural name ("pods", "deployments", "deployments.apps",
   * "deployments.v1.apps"), or the `resource` of a KubeObject. Short names match nothing.
   */
  readonly resource: string | Resource;
  /** The name of the object, or the object itself. */
  readonly name: ObjectName;
  /**
   * Returns the value that the object will have. It gets the live value, which it must not change.
   * It is called again for each live value that arrives meanwhile, which may have the change
   * already: set fields, and do not increment them. The objects of a view with `fields` have only
   * these fields.
   */
  readonly apply: (value: T) => T;
}

/** How long a change is shown that the service has confirmed and a watch does not bring. */
const unconfirmedMs = 10_000;

/** A change that is being written, or was written and not dropped yet. */
interface Overlay extends Optimistic<unknown> {
  /** The version that the write has returned; empty while it has not returned. */
  version: string;
}

/** A change that was added to the overlays, for its caller. */
export interface AddedOverlay {
  /** Shows the change until the live object has reached the version; drops it if that is empty. */
  written(version: string): void;
  /** Stops showing the change. */
  drop(): void;
}

/** The changes that are shown over the live objects of one client. */
export class Overlays {
  readonly #listeners = new Set<() => void>();
  readonly #lists = new WeakMap<object, OverlaidList>();
  readonly #objects = new WeakMap<object, Overlaid>();
  #overlays: readonly Overlay[] = [];

  /** Calls the listener after each change. Needs no `this`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Shows a change from now on. */
  add<T>(optimistic: Optimistic<T>): AddedOverlay {
    const { resource, name, apply } = optimistic;
    const overlay: Overlay = { resource, name, apply: apply as Overlay["apply"], version: "" };
    this.#change([...this.#overlays, overlay]);
    const drop = (): void => {
      this.#change(this.#overlays.filter((each) => each !== overlay));
    };
    const written = (version: string): void => {
      if (version === "") {
        drop();
        return;
      }
      overlay.version = version;
      this.#change([...this.#overlays]);
      setTimeout(drop, unconfirmedMs);
    };
    return { written, drop };
  }

  /** Returns the objects with the changes. It is the same list until something in it changes. */
  over<T>(objects: readonly KubeObject<T>[]): readonly KubeObject<T>[] {
    const overlays = this.#overlays;
    const earlier = this.#lists.get(objects);
    if (!earlier && overlays.length === 0) return objects;
    const known = (earlier?.list ?? objects) as readonly KubeObject<T>[];
    if (earlier?.overlays === overlays) return known;
    const list = keptList(
      known,
      objects.map((object) => this.overObject(object)),
    );
    this.#lists.set(objects, { overlays, list });
    return list;
  }

  /** Returns the object with the changes. It is the same object until something in it changes. */
  overObject<T>(object: KubeObject<T>): KubeObject<T> {
    const overlays = this.#overlays.filter((overlay) => isShownOver(overlay, object));
    if (overlays.length === 0) return object;
    const earlier = this.#objects.get(object);
    const applied = keptList(earlier?.applied ?? [], overlays);
    if (earlier?.applied === applied) return earlier.object as KubeObject<T>;
    const next = applyAll(object, applied);
    this.#objects.set(object, { applied, object: next });
    return next;
  }

  #change(overlays: readonly Overlay[]): void {
    this.#overlays = overlays;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** A list with the changes of a time. */
interface OverlaidList {
  readonly overlays: readonly Overlay[];
  readonly list: readonly KubeObject<unknown>[];
}

/** An object with changes. */
interface Overlaid {
  readonly applied: readonly Overlay[];
  readonly object: KubeObject<unknown>;
}

function isShownOver(overlay: Overlay, object: KubeObject<unknown>): boolean {
  const { namespace = "", name } = overlay.name;
  return (
    object.name === name &&
    object.namespace === namespace &&
    isResource(overlay.resource, object.resource) &&
    !hasReached(object.resourceVersion, overlay.version)
  );
}

function isResource(wanted: string | Resource, { plural, version, group }: Resource): boolean {
  if (typeof wanted !== "string") return wanted.plural === plural && wanted.group === group;
  return [plural, `${plural}.${group}`, `${plural}.${version}.${group}`].includes(wanted);
}

/**
 * Returns whether a live version is the written one or newer. Versions that cannot be compared are
 * reached when they are equal.
 */
function hasReached(live: string, written: string): boolean {
  return written !== "" && newest(live, written) === live;
}

function applyAll<T>(object: KubeObject<T>, overlays: readonly Overlay[]): KubeObject<T> {
  const apply = (value: T, overlay: Overlay): T => overlay.apply(value) as T;
  const changed = callListener(() => withValue(object, overlays.reduce(apply, object.value)));
  return changed ?? object;
}

function withValue<T>(object: KubeObject<T>, value: T): KubeObject<T> {
  const { namespace, name, uid, resourceVersion, resource, joined } = object;
  const content = { case: "struct" as const, value: value as JsonObject };
  const message = create(ObjectSchema, { namespace, name, uid, resourceVersion });
  return Object.assign(new KubeObject<T>({ ...message, content }, resource), { joined });
}

const overlays = new WeakMap<Client, Overlays>();

/** Returns the changes of the objects of a client. */
export function overlaysOf(client: Client): Overlays {
  const known = overlays.get(client) ?? new Overlays();
  overlays.set(client, known);
  return known;
}
