/**
 * The generated messages and services, for calls and fields that the client does not cover.
 *
 * @module
 */
export * from "./gen/kubeconnect/v1/access_service_pb.js";
export * from "./gen/kubeconnect/v1/consistency_pb.js";
export * from "./gen/kubeconnect/v1/discovery_service_pb.js";
export * from "./gen/kubeconnect/v1/join_pb.js";
export * from "./gen/kubeconnect/v1/log_lines_pb.js";
export * from "./gen/kubeconnect/v1/object_pb.js";
export * from "./gen/kubeconnect/v1/pod_service_pb.js";
export * from "./gen/kubeconnect/v1/read_pb.js";
export * from "./gen/kubeconnect/v1/relation_pb.js";
export * from "./gen/kubeconnect/v1/resource_service_pb.js";
export * from "./gen/kubeconnect/v1/status_pb.js";
export * from "./gen/kubeconnect/v1/table_pb.js";
export * from "./gen/kubeconnect/v1/watch_counts_pb.js";
export * from "./gen/kubeconnect/v1/watch_pb.js";
export * from "./gen/kubeconnect/v1/write_pb.js";
