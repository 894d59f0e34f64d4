import { stream } from "./call.js";
import { ConnectionTracker } from "./connection.js";
import { KubeconnectError } from "./error.js";
import type { WatchManyResponse } from "./gen/kubeconnect/v1/watch_pb.js";
import { required, type ResourceServiceClient } from "./message.js";
import type { Membership, Part, PartRequest } from "./part.js";
import { reconnecting, type ReconnectLimits, type ReconnectOptions } from "./reconnect.js";
import { ResponseStream } from "./responsestream.js";
import { RetryPolicy, type Progress } from "./retry.js";
import { sleep } from "./sleep.js";

/** Options of a shared stream. */
export interface SharedStreamOptions extends ReconnectOptions, ReconnectLimits {
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * One stream for several watches and counts, its parts. It is open while it has a part.
 *
 *     parts ── request ──▶ stream 1 ── responses ──▶ parts
 *       │ a part joins, leaves, or changes its request
 *       └───── request ──▶ stream 2 ── responses ──▶ parts
 *                          (its first response closes stream 1)
 *
 * The set of parts changes by a new stream, in which each part resumes with its own token. Changes
 * within one turn of the event loop are one new stream. To replace stream 1 by stream 2:
 *
 *  1. No more responses are read from stream 1. It remains open, so that the service keeps what
 *     its parts share.
 *  2. In the same turn, each part returns its request, with the token of the last response that it
 *     has received. A part therefore receives each response exactly once, and in order: those of
 *     stream 2 continue where those of stream 1 were left.
 *  3. With the first response of stream 2, stream 1 is closed. A further change waits for that
 *     response, so that there are never more than two streams.
 *
 * A replacement waits until no part is within a snapshot, because a snapshot cannot be resumed:
 * frequent changes would otherwise begin a long snapshot again and again.
 *
 * A part that the service rejects, or whose response cannot be read, fails alone. If its error can
 * be retried, the part is out of the stream for the delay. Errors of the whole stream concern
 * all parts.
 */
export class SharedStream {
  readonly #service: ResourceServiceClient;
  readonly #options: SharedStreamOptions;
  readonly #retry: RetryPolicy;
  readonly #members = new Set<Member>();
  /** The number of changes of the members and of their requests. */
  #changes = 0;
  /** The changes that a stream must have. They are fewer within the turn of a change. */
  #requiredChanges = 0;
  #isScheduled = false;
  #run: Run | undefined;

  constructor(service: ResourceServiceClient, options: SharedStreamOptions) {
    this.#service = service;
    this.#options = options;
    this.#retry = new RetryPolicy(options);
  }

  /** Returns whether the stream is within the limits of the service with this part too. */
  canTake(part: Part): boolean {
    return (
      this.#members.size === 0 ||
      (this.#members.size < maxParts && this.#pageObjects() + part.pageLimit() <= maxPageObjects)
    );
  }

  /** Whether the pages are more than the service allows in one stream. */
  get isOverfull(): boolean {
    return this.#members.size > 1 && this.#pageObjects() > maxPageObjects;
  }

  /** Adds a part. */
  join(part: Part): Membership {
    const member = new Member(part);
    this.#members.add(member);
    this.#change();
    return {
      update: () => {
        this.#change();
      },
      leave: () => {
        member.leaving.abort();
        if (this.#members.delete(member)) this.#change();
      },
    };
  }

  #pageObjects(): number {
    return [...this.#members].reduce((sum, { part }) => sum + part.pageLimit(), 0);
  }

  #active(): Member[] {
    return [...this.#members].filter(({ isWaiting }) => !isWaiting);
  }

  #change(): void {
    this.#changes++;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => {
      this.#isScheduled = false;
      this.#applyChanges();
    }, 0);
  }

  #applyChanges(): void {
    this.#requiredChanges = this.#changes;
    if (this.#active().length === 0) {
      this.#stop();
    } else if (this.#run === undefined) {
      this.#run = new Run();
      void this.#follow(this.#run);
    } else if (this.#mustReplace(this.#run)) {
      this.#run.reading?.interrupt();
    }
  }

  #stop(): void {
    this.#run?.leaving.abort();
    this.#run = undefined;
  }

  /** Reads streams until the run is stopped. Never rejects. */
  async #follow(run: Run): Promise<void> {
    const onRetry = (error: KubeconnectError, delayMs: number): void => {
      for (const { part } of this.#active()) part.lost(error, delayMs);
    };
    const statuses = reconnecting(
      (signal) => this.#open(run, signal),
      "", // each part has its own token
      run.leaving.signal,
      { ...this.#options, onRetry },
      { connection: new ConnectionTracker(), retry: this.#retry },
    );
    try {
      for (;;) await statuses.next();
    } catch (error) {
      if (run.leaving.signal.aborted) return;
      this.#run = undefined;
      for (const member of this.#active()) this.#end(member, error);
    }
  }

  /** Reads a stream, and the streams that replace it. */
  async *#open(run: Run, signal: AbortSignal): AsyncGenerator<Progress, void, undefined> {
    let current: ResponseStream<WatchManyResponse> | undefined;
    let earlier: typeof current;
    try {
      do {
        earlier = current;
        run.reading = undefined;
        current = this.#request(run, signal);
        let response = await current.next();
        earlier?.close();
        run.reading = current;
        while (response !== undefined) {
          signal.throwIfAborted();
          yield this.#deliver(response, run.places);
          if (this.#mustReplace(run)) break;
          response = await current.next();
        }
      } while (this.#isOutdated(run));
    } finally {
      run.reading = undefined;
      earlier?.close();
      current?.close();
    }
  }

  #isOutdated(run: Run): boolean {
    return run.requestedChanges < this.#requiredChanges;
  }

  #mustReplace(run: Run): boolean {
    const current = run.places.filter((place) => this.#isCurrent(place));
    return this.#isOutdated(run) && !current.some(({ member }) => member.part.isWithinSnapshot());
  }

  /** Returns whether the member of a place receives the responses with its index. */
  #isCurrent({ member, hasEnded }: Place): boolean {
    return !hasEnded && this.#members.has(member);
  }

  #request(run: Run, signal: AbortSignal): ResponseStream<WatchManyResponse> {
    run.requestedChanges = this.#changes;
    const places = this.#active().flatMap((member) => this.#placeOf(member) ?? []);
    if (places.length === 0) this.#stop(); // because no part has a valid request
    signal.throwIfAborted();
    const watches = places.flatMap(({ request: { watch } }) => watch ?? []);
    const counts = places.flatMap(({ request: { counts } }) => counts ?? []);
    run.places = [
      ...places.filter(({ request }) => request.watch),
      ...places.filter(({ request }) => request.counts),
    ];
    const { headers } = this.#options;
    return new ResponseStream(signal, (signal) =>
      stream({ signal, headers }, (call) =>
        this.#service.watchMany({ watches, counts, independent: true }, call),
      ),
    );
  }

  #placeOf(member: Member): Place | undefined {
    try {
      return new Place(member, member.part.request());
    } catch (error) {
      this.#fail(member, error);
      return undefined;
    }
  }

  /** Passes a response to its part. Returns the status of the whole stream. */
  #deliver(response: WatchManyResponse, places: readonly Place[]): Progress {
    if (response.resumeToken !== "") throw KubeconnectError.internal(notSupported);
    const place = required(places[response.watchIndex], "a part with this index");
    if (this.#isCurrent(place)) this.#receive(response, place);
    const current = places.filter((place) => this.#isCurrent(place));
    return { synced: current.every(({ isSynced }) => isSynced) };
  }

  #receive(response: WatchManyResponse, place: Place): void {
    const { part } = place.member;
    try {
      if (response.error) throw KubeconnectError.ofCall(response.error);
      const status = part.receive(response);
      part.retry.received(status);
      place.record(status);
    } catch (error) {
      place.hasEnded = true;
      this.#fail(place.member, error, place.resumes);
      if (!response.error) this.#change(); // the service must not send more
    }
  }

  /** Requests the part again after a delay, or ends it. */
  #fail(member: Member, error: unknown, resumes = false): void {
    const delay =
      error instanceof KubeconnectError ? member.part.retry.failed(error, resumes) : undefined;
    if (delay === undefined) this.#end(member, error);
    else void this.#wait(member, error as KubeconnectError, delay);
    if (this.#active().length === 0) this.#stop();
  }

  #end(member: Member, error: unknown): void {
    this.#members.delete(member);
    member.part.failed(error);
  }

  async #wait(member: Member, error: KubeconnectError, delayMs: number): Promise<void> {
    const { sleep: wait = sleep } = this.#options;
    member.isWaiting = true;
    member.part.lost(error, delayMs);
    try {
      await wait(delayMs, member.leaving.signal);
    } catch {
      return; // the part has left
    }
    member.isWaiting = false;
    this.#change();
  }
}

/** A part of the stream, from its joining to its leaving. */
class Member {
  readonly part: Part;
  readonly leaving = new AbortController();
  /** Whether it is in no stream until the delay after its failure has passed. */
  isWaiting = false;

  constructor(part: Part) {
    this.part = part;
  }
}

/** A member in one stream, which sends the member's responses with the index of its place. */
class Place {
  readonly member: Member;
  readonly request: PartRequest;
  hasEnded = false;
  hasReceived = false;
  isSynced = false;

  constructor(member: Member, request: PartRequest) {
    this.member = member;
    this.request = request;
  }

  /** Whether the member resumes at a token, and has received nothing since. */
  get resumes(): boolean {
    return !this.hasReceived && (this.request.watch?.ownResumeToken ?? "") !== "";
  }

  record({ resumeToken, synced = resumeToken !== "" }: Progress): void {
    this.hasReceived = true;
    this.isSynced = synced;
  }
}

/** The streams from the time when there are parts until there is none. */
class Run {
  readonly leaving = new AbortController();
  /** The places in the stream that was requested last. */
  places: readonly Place[] = [];
  /** The changes that this stream has. */
  requestedChanges = 0;
  /** The stream that a change interrupts; undefined until its first response. */
  reading: ResponseStream<WatchManyResponse> | undefined;
}

const notSupported = "the service does not support independent watches in one stream: update it";

/** The limits of the service for one stream. */
const maxParts = 100;
const maxPageObjects = 1_000;
