import { freshnessFrom, type Freshness } from "./freshness.js";
import type {
  Freshness as FreshnessMessage,
  Source as SourceValue,
} from "./gen/kubeconnect/v1/consistency_pb.js";
import { keptList } from "./kept.js";
import type { Resource } from "./object.js";
import { sourceFrom, type Source } from "./read.js";

/** The fields of a stream's message that describe the stream. */
interface StreamMessage {
  readonly resource?: Resource | undefined;
  readonly freshness?: FreshnessMessage | undefined;
  readonly source: SourceValue;
  readonly namespaces: readonly string[];
  readonly warnings: readonly string[];
}

/** What the service has last reported about a stream, over all the streams of a watch. */
export class StreamInfo {
  #received = false;
  #resource = unknownResource;
  #freshness: Freshness | undefined;
  #source: Source | undefined;
  #namespaces: readonly string[] = [];
  /** The warnings that were sent with the resource, and the last ones sent since. */
  #warnings: { first: readonly string[]; later: readonly string[] } = { first: [], later: [] };
  #allWarnings: readonly string[] = [];

  /** Whether a message was received. */
  get received(): boolean {
    return this.#received;
  }

  /** The resource of the objects; its fields are empty until it is sent. */
  get resource(): Resource {
    return this.#resource;
  }

  /** As last reported; stale from the loss of a stream until the next report. */
  get freshness(): Freshness | undefined {
    return this.#freshness;
  }

  /** As last reported. */
  get source(): Source | undefined {
    return this.#source;
  }

  /** As last sent; empty for all. The same list until it changes. */
  get namespaces(): readonly string[] {
    return this.#namespaces;
  }

  /**
   * The warnings that were sent with the resource, and the last ones sent since. The same list
   * until it changes.
   */
  get warnings(): readonly string[] {
    return this.#allWarnings;
  }

  /** Marks the freshness as stale, because the stream was lost. */
  markLost(): void {
    if (this.#received) {
      this.#freshness = { stale: true, lastContactTime: this.#freshness?.lastContactTime };
    }
  }

  /** Reads a message. */
  read({ resource, source, freshness, namespaces, warnings }: StreamMessage): void {
    this.#received = true;
    this.#freshness = freshnessFrom(freshness) ?? this.#freshness;
    if (resource || namespaces.length > 0)
      this.#namespaces = keptList(this.#namespaces, namespaces);
    if (resource) {
      this.#resource = resource;
      this.#source = sourceFrom(source);
      this.#warnings = { first: warnings, later: [] };
    } else if (warnings.length > 0) {
      this.#warnings = { ...this.#warnings, later: warnings };
    }
    const { first, later } = this.#warnings;
    this.#allWarnings = keptList(this.#allWarnings, [...first, ...later]);
  }
}

/** The resource of a stream that has not been sent its resource yet. */
const unknownResource: Resource = {
  group: "",
  version: "",
  kind: "",
  plural: "",
  namespaced: false,
};
