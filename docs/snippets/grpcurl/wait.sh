grpcurl -plaintext -d '{
    "resource": "deployments.apps", "namespace": "shop", "name": "web",
    "filter": "object.status.observedGeneration == object.metadata.generation && object.status.?updatedReplicas.orValue(0) == object.spec.replicas && object.status.?replicas.orValue(0) == object.spec.replicas && object.status.?availableReplicas.orValue(0) == object.spec.replicas",
    "fields": ["status.availableReplicas"]
  }' 127.0.0.1:8080 kubeconnect.v1.ResourceService/Watch
