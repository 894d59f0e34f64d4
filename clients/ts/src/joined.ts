import type { JoinedObjects as JoinedMessage } from "./gen/kubeconnect/v1/object_pb.js";
import type { KubeValue } from "./object.js";
import { ObjectState } from "./objectstate.js";

/** The objects that a join relates to an object. */
export interface Joined {
  /** The number of related objects. */
  readonly count: number;
  /** The related objects with the `fields` of the join, at most its `limit`; none without fields. */
  readonly objects: readonly ObjectState<KubeValue>[];
  /**
   * Whether the caller is allowed to list the related objects, and the service caches them. If not,
   * there are none here, and a warning of the response has the reason.
   */
  readonly permitted: boolean;
}

/** Related objects, by the name of the join. */
export type JoinedObjects = Readonly<Record<string, Joined>>;

/** Converts the results of joins. */
export function joinedFrom(messages: readonly JoinedMessage[]): JoinedObjects {
  if (messages.length === 0) return noJoins;
  const entries = messages.map(({ name, count, objects, notPermitted }): [string, Joined] => [
    name,
    {
      count: Number(count),
      objects: objects.map((message) => new ObjectState<KubeValue>(message)),
      permitted: !notPermitted,
    },
  ]);
  return Object.fromEntries(entries);
}

const noJoins: JoinedObjects = {};
