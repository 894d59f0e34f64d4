grpcurl -plaintext -d '{
    "resource": "pods",
    "order_by": "metadata.creationTimestamp desc",
    "fields": ["status.phase"],
    "limit": 10
  }' 127.0.0.1:8080 kubeconnect.v1.ResourceService/Watch
