import type { ResourceServiceClient } from "./message.js";
import type { Membership, Part } from "./part.js";
import { SharedStream, type SharedStreamOptions } from "./sharedstream.js";

/**
 * The streams that live stores share: one, or more if the parts are more than the service allows in
 * one stream.
 */
export class SharedStreams {
  readonly #service: ResourceServiceClient;
  readonly #options: SharedStreamOptions;
  readonly #streams: SharedStream[] = [];

  constructor(service: ResourceServiceClient, options: SharedStreamOptions = {}) {
    this.#service = service;
    this.#options = options;
  }

  /** Returns the streams for a store: streams of its own if it has own headers or reconnect options. */
  forStore(options: SharedStreamOptions): SharedStreams {
    const isOwn = ownOptions.some((option) => options[option] !== undefined);
    const { renewsCredentials } = this.#options;
    return isOwn ? new SharedStreams(this.#service, { ...options, renewsCredentials }) : this;
  }

  /** Adds a part to a stream that can take it. */
  join(part: Part): Membership {
    let stream = this.#streamFor(part);
    let membership = stream.join(part);
    return {
      update: () => {
        if (!stream.isOverfull) {
          membership.update();
          return;
        }
        membership.leave();
        stream = this.#streamFor(part);
        membership = stream.join(part);
      },
      leave: () => {
        membership.leave();
      },
    };
  }

  #streamFor(part: Part): SharedStream {
    const known = this.#streams.find((stream) => stream.canTake(part));
    if (known) return known;
    const stream = new SharedStream(this.#service, this.#options);
    this.#streams.push(stream);
    return stream;
  }
}

/** The options that concern a whole stream. */
const ownOptions = [
  "headers",
  "reconnect",
  "isFinal",
  "sleep",
  "firstDelayMs",
  "maxDelayMs",
  "random",
  "quietMs",
  "firstQuietMs",
] as const satisfies readonly (keyof SharedStreamOptions)[];
