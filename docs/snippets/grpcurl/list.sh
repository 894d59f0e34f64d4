grpcurl -plaintext -d '{
    "resource": "pods",
    "filter": "object.status.phase != \"Running\"",
    "fields": ["spec.nodeName", "status.phase"],
    "order_by": "metadata.creationTimestamp desc"
  }' 127.0.0.1:8080 kubeconnect.v1.ResourceService/List
