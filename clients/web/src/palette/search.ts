import type { Client, ResourceType } from "@kubeconnect/client";
import { nameFilter } from "../model/cel.js";
import { resourceName } from "../model/resource.js";
import { typeOfWord } from "../model/types.js";

/** An object that was found. */
export interface FoundObject {
  readonly resource: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** What to search for, and where. */
export interface ObjectSearch {
  readonly types: readonly ResourceType[];
  /** Parts that names must have. */
  readonly words: readonly string[];
}

/** The maximum number of objects of each type. */
const limit = 20;

/** The types that are searched unless one is typed. */
const common = [
  "pods",
  "deployments.apps",
  "services",
  "statefulsets.apps",
  "daemonsets.apps",
  "nodes",
];

/** Returns what a text searches: "pods web" the pods, "web" the objects of the common types. */
export function objectSearch(
  text: string,
  types: readonly ResourceType[],
): ObjectSearch | undefined {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const [first, ...rest] = words;
  if (first === undefined) return undefined;
  const typed = /\s/.test(text.trimStart()) ? typeOfWord(first, types) : undefined;
  if (typed) return { types: [typed], words: rest };
  const searched = types.filter(({ resource }) => common.includes(resourceName(resource)));
  return { types: searched, words };
}

/** Returns the condition that a name has all words. */
export function namesFilter(words: readonly string[]): string {
  return words.map(nameFilter).join(" && ");
}

/** Returns objects of a type whose names have the words, in the namespace or in all. */
export async function findObjects(
  client: Client,
  { resource }: ResourceType,
  words: readonly string[],
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<readonly FoundObject[]> {
  const name = resourceName(resource);
  const list = client.list(name, {
    filter: namesFilter(words),
    fields: ["metadata.name"],
    pageSize: limit,
    signal,
    ...(resource.namespaced && namespace && { namespace }),
  });
  for await (const { objects } of list.pages()) {
    return objects.map(({ namespace, name: object }) => ({
      resource: name,
      kind: resource.kind,
      namespace,
      name: object,
    }));
  }
  return [];
}
