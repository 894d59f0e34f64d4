/**
 * Hooks for React, version 18 or newer: live objects, lists, pages and counts, and mutations with
 * optimistic changes. Equal questions of several components share one store.
 *
 * @module
 */
export type { Optimistic } from "./react/overlays.js";
export { KubeconnectProvider, useClient, type KubeconnectProviderProps } from "./react/provider.js";
export { useCount, type LiveCount, type UseCountOptions } from "./react/usecount.js";
export { useList, type LiveList, type UseListOptions } from "./react/uselist.js";
export { useLivePage, type LivePageView, type UseLivePageOptions } from "./react/uselivepage.js";
export { useLiveStore } from "./react/uselivestore.js";
export { useMutation, type Mutation, type UseMutationOptions } from "./react/usemutation.js";
export { useResource, type LiveResource, type UseResourceOptions } from "./react/useresource.js";
export type { HookOptionsOf, LiveHookOptions } from "./react/useshared.js";
export type { LiveView } from "./react/view.js";
