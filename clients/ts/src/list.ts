import { Code } from "@connectrpc/connect";
import { unary, type ReadOptions } from "./call.js";
import { InvalidArgumentError, KubeconnectError } from "./error.js";
import { freshnessFrom, type Freshness } from "./freshness.js";
import { Encoding } from "./gen/kubeconnect/v1/object_pb.js";
import type { ListResponse } from "./gen/kubeconnect/v1/read_pb.js";
import { joinFields, type JoinOptions } from "./join.js";
import { required, type ResourceServiceClient } from "./message.js";
import { KubeObject, type KubeValue, type Resource } from "./object.js";
import {
  consistencyField,
  objectFields,
  sourceFrom,
  type ConsistencyOptions,
  type FieldOptions,
  type Source,
} from "./read.js";
import { selectionFields, type Selection } from "./selection.js";

/** How often `all` restarts an expired list. */
const maxRestarts = 2;

/** Options of a list: the objects to list, their order, and how to read them. */
export interface ListOptions
  extends Selection, ReadOptions, ConsistencyOptions, FieldOptions, JoinOptions {
  /**
   * "path" or "path desc", or several of these with commas: "status.phase,
   * metadata.creationTimestamp desc". Default: by namespace and name.
   */
  readonly orderBy?: string | undefined;
  /** The maximum number of objects in a page. Default: as many as fit into a message. */
  readonly pageSize?: number | undefined;
}

/** One page of a list. */
export interface ListPage<T = KubeValue> {
  readonly resource: Resource;
  /** The objects, in the requested order. */
  readonly objects: readonly KubeObject<T>[];
  /** The version of the snapshot, the same on every page. */
  readonly resourceVersion: string;
  /** The number of objects after this page. */
  readonly remaining: number;
  /** How current the snapshot was when this page was requested. */
  readonly freshness: Freshness | undefined;
  readonly source: Source | undefined;
  /**
   * The namespaces that the list covers, in order, if all were requested and the caller is not
   * allowed to list all of them. Empty if the list is complete.
   */
  readonly namespaces: readonly string[];
  /**
   * Human-readable warnings: that the list covers only some namespaces, objects for which the
   * filter has no value, and the API server's warnings.
   */
  readonly warnings: readonly string[];
}

/** A complete list. */
export type ListAll<T = KubeValue> = Omit<ListPage<T>, "remaining">;

/**
 * A list that is fetched while it is iterated: by object, by page, or all at once. An iteration
 * fails with Code.OutOfRange if neither the service nor the API server has the snapshot any
 * more, or if a replica of another version cannot read the position; the message has the number of
 * objects returned before. Restart the list then. `all` does so by itself.
 */
export class List<T = KubeValue> implements AsyncIterable<KubeObject<T>> {
  readonly #service: ResourceServiceClient;
  readonly #resource: string;
  readonly #options: ListOptions;

  /** @internal */
  constructor(service: ResourceServiceClient, resource: string, options: ListOptions) {
    this.#service = service;
    this.#resource = resource;
    this.#options = options;
  }

  /** Iterates over the objects. The next page is fetched after the objects of the previous one. */
  async *[Symbol.asyncIterator](): AsyncGenerator<KubeObject<T>, void, undefined> {
    for await (const response of this.#counted()) {
      const resource = resourceOf(response);
      // An object is created when it is its turn, so that its decoded content is not held by its page.
      for (const message of response.objects) yield new KubeObject<T>(message, resource);
    }
  }

  /** Iterates over the pages of the service. There is at least one, which may be empty. */
  async *pages(): AsyncGenerator<ListPage<T>, void, undefined> {
    for await (const response of this.#counted()) yield pageFrom<T>(response);
  }

  /** Reads the responses. The error of an expired list has the number of objects before. */
  async *#counted(): AsyncGenerator<ListResponse, void, undefined> {
    let returned = 0;
    try {
      for await (const response of this.#responses()) {
        returned += response.objects.length;
        yield response;
      }
    } catch (error) {
      throw isExpired(error)
        ? error.withMessage(`list expired after ${returned} objects: ${error.message}`)
        : error;
    }
  }

  /** Returns all objects. If the list expires meanwhile, it is restarted, at most twice. */
  async all(): Promise<ListAll<T>> {
    for (let restarts = 0; ; restarts++) {
      try {
        return await this.#all();
      } catch (error) {
        if (!isExpired(error) || restarts === maxRestarts) {
          throw error;
        }
      }
    }
  }

  async #all(): Promise<ListAll<T>> {
    const pages: ListPage<T>[] = [];
    for await (const response of this.#responses()) {
      pages.push(pageFrom<T>(response));
    }
    const { resource, resourceVersion, freshness, source, namespaces } = required(
      pages[0],
      "the first page",
    );
    const objects = pages.flatMap((page) => page.objects);
    const warnings = [...new Set(pages.flatMap((page) => page.warnings))];
    return { resource, objects, resourceVersion, freshness, source, namespaces, warnings };
  }

  async *#responses(): AsyncGenerator<ListResponse, void, undefined> {
    let pageToken = "";
    do {
      const response = await this.#fetch(pageToken);
      yield response;
      pageToken = response.nextPageToken;
    } while (pageToken !== "");
  }

  /**
   * Reads a page. The service of an earlier or a later version may be unable to read its token, which
   * is as an expired one: the request itself was not rejected with the first page.
   */
  async #fetch(pageToken: string): Promise<ListResponse> {
    const { orderBy = "", pageSize = 0, minResourceVersion = "" } = this.#options;
    const request = {
      resource: this.#resource,
      ...selectionFields(this.#options),
      orderBy,
      pageSize,
      pageToken,
      minResourceVersion,
      encoding: Encoding.JSON,
      ...consistencyField(this.#options),
      ...objectFields(this.#options),
      ...joinFields(this.#options),
    };
    try {
      return await unary(this.#options, (call) => this.#service.list(request, call));
    } catch (error) {
      const isRejected = error instanceof InvalidArgumentError && pageToken !== "";
      throw isRejected ? KubeconnectError.expired(error) : error;
    }
  }
}

function isExpired(error: unknown): error is KubeconnectError {
  return (
    error instanceof KubeconnectError &&
    error.code === Code.OutOfRange &&
    error.reason === "Expired"
  );
}

function resourceOf(response: ListResponse): Resource {
  return required(response.resource, "the resource of the objects");
}

function pageFrom<T>(response: ListResponse): ListPage<T> {
  const resource = resourceOf(response);
  return {
    resource,
    objects: response.objects.map((message) => new KubeObject<T>(message, resource)),
    resourceVersion: response.resourceVersion,
    remaining: Number(response.remainingItemCount),
    freshness: freshnessFrom(response.freshness),
    source: sourceFrom(response.source),
    namespaces: response.namespaces,
    warnings: response.warnings,
  };
}
