curl --silent http://127.0.0.1:8080/kubeconnect.v1.ResourceService/Count \
  --header 'Content-Type: application/json' --data '{
    "resource": "pods",
    "groupBy": ["status.phase"],
    "aggregates": [{
      "function": "AGGREGATE_FUNCTION_SUM",
      "path": "spec.containers[*].resources.requests.cpu"
    }]
  }'
