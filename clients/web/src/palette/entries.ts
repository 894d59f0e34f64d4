import { fuzzyRank } from "../model/fuzzy.js";
import { objectParams, resourceName } from "../model/resource.js";
import { typeLabel, typeNames } from "../model/types.js";
import type { ResourceType } from "@kubeconnect/client";
import type { FoundObject } from "./search.js";

/** Something that can be chosen in the palette. */
export interface Entry {
  readonly id: string;
  readonly label: string;
  /** What it is, at the end of the line. */
  readonly hint: string;
  /** The texts by which it is found. */
  readonly texts: readonly string[];
  /** Where it leads: an address of the page, or an action. */
  readonly does: { readonly href: string } | { readonly action: () => void };
}

/** Entries with a heading. */
export interface Section {
  readonly title: string;
  readonly entries: readonly Entry[];
}

/** The maximum number of entries of a section, but objects. */
const limit = 6;

export function typeEntry(type: ResourceType): Entry {
  const name = resourceName(type.resource);
  return {
    id: `type ${name}`,
    label: typeLabel(type),
    hint: type.resource.group || "core",
    texts: typeNames(type),
    does: { href: `/r/${encodeURIComponent(name)}` },
  };
}

export function objectEntry(object: FoundObject): Entry {
  const { resource, namespace, name } = objectParams(object.resource, object);
  const path = [resource, namespace, name].map(encodeURIComponent).join("/");
  return {
    id: `object ${path}`,
    label: object.name,
    hint: object.namespace ? `${object.kind} in ${object.namespace}` : object.kind,
    texts: [object.name],
    does: { href: `/o/${path}` },
  };
}

/** What a palette can offer. */
export interface Offer {
  readonly recent: readonly Entry[];
  readonly types: readonly Entry[];
  readonly namespaces: readonly Entry[];
  readonly actions: readonly Entry[];
  /** Objects, which the service has found. */
  readonly objects: readonly Entry[];
}

/** Returns the sections for what was typed. Without a text: what was chosen before, and actions. */
export function sectionsFor(text: string, offer: Offer): readonly Section[] {
  const query = text.trim();
  if (query === "") {
    return withEntries([
      { title: "Recent", entries: offer.recent },
      { title: "Actions", entries: offer.actions },
      { title: "Types", entries: offer.types.slice(0, limit) },
    ]);
  }
  const best = (entries: readonly Entry[]) =>
    fuzzyRank(query, entries, ({ texts }) => texts).slice(0, limit);
  const types = { title: "Types", entries: best(offer.types) };
  const actions = { title: "Actions", entries: best(offer.actions) };
  const others = [
    { title: "Objects", entries: ranked(query, offer.objects) },
    { title: "Namespaces", entries: best(offer.namespaces) },
  ];
  const isAction = beginsWith(query, actions.entries) && !beginsWith(query, types.entries);
  return withEntries(isAction ? [actions, types, ...others] : [types, ...others, actions]);
}

/** Whether a text is the begin of a label. */
function beginsWith(query: string, entries: readonly Entry[]): boolean {
  return entries.some(({ label }) => label.toLowerCase().startsWith(query.toLowerCase()));
}

/** Orders objects by the last word, because the first one can be their type. None is omitted. */
function ranked(query: string, objects: readonly Entry[]): readonly Entry[] {
  const word = query.split(/\s+/).at(-1) ?? "";
  const matching = fuzzyRank(word, objects, ({ texts }) => texts);
  return [...matching, ...objects.filter((entry) => !matching.includes(entry))];
}

function withEntries(sections: readonly Section[]): readonly Section[] {
  return sections.filter(({ entries }) => entries.length > 0);
}
