grpcurl -plaintext -d '{"resource": "pods", "namespace": "shop", "fields": ["status.phase"]}' \
  127.0.0.1:8080 kubeconnect.v1.ResourceService/Watch
