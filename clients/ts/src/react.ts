/**
 * Hooks for React.
 *
 * @module
 */
export { KubeconnectProvider, useClient, type KubeconnectProviderProps } from "./react/provider.js";
