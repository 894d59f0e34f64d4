grpcurl -plaintext -d '{
    "resource": "pods",
    "group_by": ["status.phase"],
    "aggregates": [{
      "function": "AGGREGATE_FUNCTION_SUM",
      "path": "spec.containers[*].resources.requests.cpu"
    }]
  }' 127.0.0.1:8080 kubeconnect.v1.ResourceService/WatchCounts
