curl --silent http://127.0.0.1:8080/kubeconnect.v1.ResourceService/List \
  --header 'Content-Type: application/json' --data '{
    "resource": "pods",
    "namespace": "shop",
    "fields": ["status.phase"],
    "joins": [
      {"name": "node", "type": "JOIN_TYPE_NAMED_BY", "resource": "nodes",
       "path": "spec.nodeName", "fields": ["metadata.labels"]},
      {"name": "deployment", "type": "JOIN_TYPE_OWNER_OF", "resource": "deployments",
       "fields": ["spec.replicas"]}
    ]
  }'
