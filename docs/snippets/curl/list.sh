curl --silent http://127.0.0.1:8080/kubeconnect.v1.ResourceService/List \
  --header 'Content-Type: application/json' --data '{
    "resource": "pods",
    "filter": "object.status.phase != \"Running\"",
    "fields": ["spec.nodeName", "status.phase"],
    "orderBy": "metadata.creationTimestamp desc"
  }'
