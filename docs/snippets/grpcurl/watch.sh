grpcurl -plaintext -d '{
    "resource": "deployments.apps",
    "namespace": "shop",
    "fields": ["spec.replicas", "status.readyReplicas"]
  }' 127.0.0.1:8080 kubeconnect.v1.ResourceService/Watch
