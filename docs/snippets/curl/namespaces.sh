curl --silent http://127.0.0.1:8080/kubeconnect.v1.ResourceService/Count \
  --header 'Content-Type: application/json' \
  --data '{"resource": "pods", "groupBy": ["metadata.namespace"]}'
