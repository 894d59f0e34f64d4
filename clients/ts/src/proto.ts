/**
 * The generated messages and services, for calls and fields that the client does not cover.
 *
 * @module
 */
export * from "./gen/kubeconnect/v1/access_service_pb.js";
export * from "./gen/kubeconnect/v1/discovery_service_pb.js";
export * from "./gen/kubeconnect/v1/object_pb.js";
export * from "./gen/kubeconnect/v1/pod_service_pb.js";
export * from "./gen/kubeconnect/v1/resource_service_pb.js";
export * from "./gen/kubeconnect/v1/status_pb.js";
