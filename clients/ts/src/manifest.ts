import type { WriteBody } from "./body.js";
import { kindResource } from "./kindresource.js";
import { readHeader, splitDocuments, UnreadableYaml, type YamlDocument } from "./yamlheader.js";

/**
 * Objects to apply: YAML or JSON text with one or several documents, or objects, or several of
 * both.
 */
export type ApplyDocuments = string | Uint8Array | readonly (string | object)[];

/** One object to apply. */
export interface Manifest {
  readonly group: string;
  readonly kind: string;
  /** The resource in the form Kind.version.group, which names it without discovery. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly body: WriteBody;
  /** The description of the object in errors, such as "document 2 (Deployment default/web)". */
  readonly description: string;
}

/** The fields that name an object, as far as they are known. */
interface PlainObject {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown };
  readonly items?: unknown;
}

/** Returns the objects of documents. Throws a TypeError for one that does not name itself. */
export function manifestsOf(documents: ApplyDocuments): Manifest[] {
  const parts = typeof documents === "string" || isBytes(documents) ? [documents] : documents;
  if (!Array.isArray(parts)) {
    throw new TypeError(
      "documents must be a text, bytes, or a list of texts and objects: [object]",
    );
  }
  let number = 0;
  return parts.flatMap((part): Manifest[] => {
    if (typeof part !== "string" && !isBytes(part)) {
      return fromObject(JSON.parse(JSON.stringify(part)) as unknown, `document ${++number}`);
    }
    const text = typeof part === "string" ? part : decoder.decode(part);
    return splitDocuments(text).flatMap((each) => fromText(each, `document ${++number}`));
  });
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array;
}

function fromText({ text, line }: YamlDocument, document: string, item = ""): Manifest[] {
  const place = (offset: number): string => `${document}, line ${line + offset}${item}`;
  const json = parseJson(text);
  if (json !== undefined) return fromObject(json, place(0), text);
  const header = located(place, () => readHeader(text));
  if (!header.items) return [manifest(header, text, place(0))];
  return header.items.flatMap((each, i) =>
    fromText({ ...each, line: line + each.line }, document, `${item}, item ${i + 1}`),
  );
}

/** Returns the value of a text that is JSON; undefined if it is not. */
function parseJson(text: string): unknown {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns the object, or those of a list. The managed fields of an object that was read are left
 * out, because the API server rejects them.
 */
function fromObject(value: unknown, where: string, text?: string): Manifest[] {
  const object = (value ?? {}) as PlainObject;
  if (object.kind === "List" && Array.isArray(object.items)) {
    return object.items.flatMap((item, i) => fromObject(item, `${where}, item ${i + 1}`));
  }
  const metadata = { ...object.metadata, managedFields: undefined };
  const { apiVersion, kind } = object;
  const header = { apiVersion, kind, name: metadata.name, namespace: metadata.namespace };
  return [manifest(header, text ?? { ...object, metadata }, where)];
}

type Header = Readonly<Record<"apiVersion" | "kind" | "name" | "namespace", unknown>>;

function manifest(header: Header, body: WriteBody, where: string): Manifest {
  const required = (key: keyof Header, path: string = key): string => {
    const value = header[key];
    if (typeof value === "string" && value !== "") return value;
    throw new TypeError(`${where}: an object to apply needs ${path}`);
  };
  const apiVersion = required("apiVersion");
  const kind = required("kind");
  const name = required("name", "metadata.name");
  const namespace = typeof header.namespace === "string" ? header.namespace : undefined;
  const path = namespace ? `${namespace}/${name}` : name;
  const description = `${where} (${kind} ${path})`;
  return { ...kindResource(apiVersion, kind), kind, namespace, name, body, description };
}

function located<T>(place: (line: number) => string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UnreadableYaml)) throw error;
    throw new TypeError(`${place(error.line)}: ${error.message}`, { cause: error });
  }
}
