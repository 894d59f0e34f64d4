curl --silent http://127.0.0.1:8080/kubeconnect.v1.ResourceService/List \
  --header 'Content-Type: application/json' --data '{
    "resource": "pods",
    "fields": ["status.phase"],
    "related": {
      "type": "RELATION_TYPE_OWNED_BY", "transitive": true,
      "resource": "deployments", "namespace": "shop", "name": "web"
    }
  }'
