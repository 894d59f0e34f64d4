import type { CacheState, ResourceType } from "@kubeconnect/client";
import { formatBytes } from "../model/quantity.js";
import type { Tone } from "../model/tone.js";

/** A type with its cache. */
export interface RunningCache {
  readonly type: ResourceType;
  readonly cache: CacheState;
}

/** Returns the caches that run, the largest first. */
export function runningCaches(types: readonly ResourceType[]): readonly RunningCache[] {
  return types
    .flatMap((type) => (type.cache?.running ? [{ type, cache: type.cache }] : []))
    .sort((a, b) => b.cache.sizeBytes - a.cache.sizeBytes);
}

/** Returns the state of a cache in a word. */
export function cacheState({ synced, freshness }: CacheState): {
  readonly tone: Tone;
  readonly text: string;
} {
  if (!synced) return { tone: "info", text: "Filling" };
  return freshness?.stale ? { tone: "warn", text: "Stale" } : { tone: "ok", text: "Current" };
}

/** Returns the numbers of all caches in a sentence. */
export function cacheSummary(caches: readonly RunningCache[]): string {
  if (caches.length === 0) return "No cache runs that you may see.";
  const objects = caches.reduce((sum, { cache }) => sum + cache.objectCount, 0);
  const bytes = caches.reduce((sum, { cache }) => sum + cache.sizeBytes, 0);
  const number = `${caches.length} ${caches.length === 1 ? "cache" : "caches"}`;
  return `${number} with ${objects.toLocaleString("en")} objects, ${formatBytes(bytes)}.`;
}
