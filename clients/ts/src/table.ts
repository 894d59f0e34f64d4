import type { JsonValue } from "@bufbuild/protobuf";
import { unary, type CallOptions } from "./call.js";
import type { GetTableResponse, TableRow as RowMessage } from "./gen/kubeconnect/v1/table_pb.js";
import { required, type ResourceServiceClient } from "./message.js";
import type { Resource } from "./object.js";
import type { ObjectHead } from "./objectstate.js";
import { jsonFrom } from "./value.js";

/** Options of a table: the objects to print. An object must match all that are given. */
export interface TableOptions extends CallOptions {
  /** Default: all namespaces, which the caller must be allowed to list. */
  readonly namespace?: string | undefined;
  /** One object by its name. */
  readonly name?: string | undefined;
  /** A label selector in kubectl's notation: "app=web,tier in (a,b),!canary". */
  readonly labelSelector?: string | undefined;
  /** A field selector in kubectl's notation: "status.phase=Running". */
  readonly fieldSelector?: string | undefined;
  /** The maximum number of rows in a page. Default and limit: 500. */
  readonly pageSize?: number | undefined;
}

/** A column of a table. */
export interface TableColumn {
  /** The heading. */
  readonly name: string;
  /** OpenAPI's type: "string", "integer", "number", "boolean", "array", "date". */
  readonly type: string;
  /** OpenAPI's format: "name" is the object's name. */
  readonly format: string;
  /** A description, human-readable. */
  readonly description: string;
  /** 0 for a column that is always shown; greater for one of wide output, as of `kubectl -o wide`. */
  readonly priority: number;
}

/** A row of a table: one object. */
export interface TableRow extends ObjectHead {
  /** A value for each column. */
  readonly cells: readonly JsonValue[];
}

/** One page of a table. */
export interface TablePage {
  readonly resource: Resource;
  readonly columns: readonly TableColumn[];
  /** The rows, ordered by namespace and name. */
  readonly rows: readonly TableRow[];
  /** The resource version of the table. */
  readonly resourceVersion: string;
  /** The number of rows after this page, if the API server reports it. */
  readonly remaining: number;
  /** The API server's warnings, human-readable. */
  readonly warnings: readonly string[];
}

/** A complete table. */
export type TableAll = Omit<TablePage, "remaining">;

/**
 * A table of objects as the API server prints them, which is fetched while it is iterated: by
 * row, by page, or all at once. An iteration fails with Code.OutOfRange if the table expires
 * between two pages: request the table again.
 */
export class Table implements AsyncIterable<TableRow> {
  readonly #service: ResourceServiceClient;
  readonly #resource: string;
  readonly #options: TableOptions;

  /** @internal */
  constructor(service: ResourceServiceClient, resource: string, options: TableOptions) {
    this.#service = service;
    this.#resource = resource;
    this.#options = options;
  }

  /** Iterates over the rows. The next page is fetched after the rows of the previous one. */
  async *[Symbol.asyncIterator](): AsyncGenerator<TableRow, void, undefined> {
    for await (const page of this.pages()) {
      yield* page.rows;
    }
  }

  /** Iterates over the pages. There is at least one, which may be empty. */
  async *pages(): AsyncGenerator<TablePage, void, undefined> {
    let pageToken = "";
    do {
      const response = await this.#fetch(pageToken);
      yield pageFrom(response);
      pageToken = response.nextPageToken;
    } while (pageToken !== "");
  }

  /** Returns all rows. */
  async all(): Promise<TableAll> {
    const pages: TablePage[] = [];
    for await (const page of this.pages()) {
      pages.push(page);
    }
    const { resource, columns, resourceVersion, warnings } = required(pages[0], "the first page");
    return {
      resource,
      columns,
      resourceVersion,
      warnings,
      rows: pages.flatMap((page) => page.rows),
    };
  }

  #fetch(pageToken: string): Promise<GetTableResponse> {
    const {
      namespace = "",
      name = "",
      labelSelector = "",
      fieldSelector = "",
      pageSize = 0,
    } = this.#options;
    const request = {
      resource: this.#resource,
      namespace,
      name,
      labelSelector,
      fieldSelector,
      pageSize,
      pageToken,
    };
    return unary(this.#options, (call) => this.#service.getTable(request, call));
  }
}

function pageFrom(response: GetTableResponse): TablePage {
  return {
    resource: required(response.resource, "the resource of the objects"),
    columns: response.columns,
    rows: response.rows.map(rowFrom),
    resourceVersion: response.resourceVersion,
    remaining: Number(response.remainingItemCount),
    warnings: response.warnings,
  };
}

function rowFrom({ cells, namespace, name, uid, resourceVersion }: RowMessage): TableRow {
  return { cells: cells.map(jsonFrom), namespace, name, uid, resourceVersion };
}
