curl --silent http://127.0.0.1:8080/kubeconnect.v1.ResourceService/List \
  --header 'Content-Type: application/json' \
  --data '{"resource": "pods", "namespace": "shop", "fields": ["status.phase"]}'
