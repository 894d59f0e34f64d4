import type { JsonValue } from "@bufbuild/protobuf";
import { unary, type CallOptions } from "./call.js";
import type {
  GetTableResponse,
  TableColumn as ColumnMessage,
  TableRow as RowMessage,
} from "./gen/kubeconnect/v1/resource_service_pb.js";
import { required, type ResourceServiceClient } from "./message.js";
import type { ObjectHead, ResourceKind } from "./object.js";
import { jsonFrom } from "./value.js";

/** Which objects to print. What is left out selects everything. */
export interface TableSelection {
  /** Default: all; you must have the right to all, then. */
  readonly namespace?: string | undefined;
  /** One object by its name. */
  readonly name?: string | undefined;
  /** As kubectl writes it: "app=web,tier in (a,b),!canary". */
  readonly labelSelector?: string | undefined;
  /** As kubectl writes it: "status.phase=Running". */
  readonly fieldSelector?: string | undefined;
  /** How many rows a page may have. Default, and at most: 500. */
  readonly pageSize?: number | undefined;
}

/** What a column holds. */
export type TableColumn = Readonly<
  Pick<ColumnMessage, "name" | "type" | "format" | "description" | "priority">
>;

/** One object. */
export interface TableRow extends ObjectHead {
  /** One for each column. */
  readonly cells: readonly JsonValue[];
}

/** One page of a table. */
export interface TablePage {
  readonly kind: ResourceKind;
  readonly columns: readonly TableColumn[];
  /** In order of namespace and name. */
  readonly rows: readonly TableRow[];
  /** The version that the table was made at. */
  readonly resourceVersion: string;
  /** How many rows come after this page, where the API server says so. */
  readonly remaining: number;
  /** The API server's warnings, for people. */
  readonly warnings: readonly string[];
}

/** A whole table. */
export type TableAll = Omit<TablePage, "remaining">;

/**
 * Objects as the API server prints them, fetched as they are iterated: row by row, page by
 * page, or all at once. Code.OutOfRange says that the table has expired between two pages:
 * begin again.
 */
export class Table implements AsyncIterable<TableRow> {
  readonly #service: ResourceServiceClient;
  readonly #resource: string;
  readonly #selection: TableSelection;
  readonly #options: CallOptions;

  constructor(
    service: ResourceServiceClient,
    resource: string,
    selection: TableSelection,
    options: CallOptions,
  ) {
    this.#service = service;
    this.#resource = resource;
    this.#selection = selection;
    this.#options = options;
  }

  /** The rows; the next page is fetched when the one before is used up. */
  async *[Symbol.asyncIterator](): AsyncGenerator<TableRow, void, undefined> {
    for await (const page of this.pages()) {
      yield* page.rows;
    }
  }

  /** The pages. There is always one, if only empty. */
  async *pages(): AsyncGenerator<TablePage, void, undefined> {
    let pageToken = "";
    do {
      const response = await this.#fetch(pageToken);
      yield pageFrom(response);
      pageToken = response.nextPageToken;
    } while (pageToken !== "");
  }

  /** All rows at once. */
  async all(): Promise<TableAll> {
    const pages: TablePage[] = [];
    for await (const page of this.pages()) {
      pages.push(page);
    }
    const { kind, columns, resourceVersion, warnings } = required(pages[0], "a page");
    return { kind, columns, resourceVersion, warnings, rows: pages.flatMap((page) => page.rows) };
  }

  #fetch(pageToken: string): Promise<GetTableResponse> {
    const {
      namespace = "",
      name = "",
      labelSelector = "",
      fieldSelector = "",
      pageSize = 0,
    } = this.#selection;
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
    kind: required(response.kind, "the kind of its objects"),
    columns: response.columns,
    rows: response.rows.map(rowFrom),
    resourceVersion: response.resourceVersion,
    remaining: Number(response.remaining),
    warnings: response.warnings,
  };
}

function rowFrom({ cells, namespace, name, uid, resourceVersion }: RowMessage): TableRow {
  return { cells: cells.map(jsonFrom), namespace, name, uid, resourceVersion };
}
