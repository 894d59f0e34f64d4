grpcurl -plaintext -d '{
    "resource": "deployments.apps", "namespace": "shop", "name": "web",
    "filter": "object.status.availableReplicas == object.spec.replicas",
    "fields": ["status.availableReplicas"]
  }' 127.0.0.1:8080 kubeconnect.v1.ResourceService/Watch
