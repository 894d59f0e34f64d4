curl --silent http://127.0.0.1:8080/kubeconnect.v1.ResourceService/Patch \
  --header 'Content-Type: application/json' --data '{
    "resource": "configmaps", "namespace": "shop", "name": "banner",
    "type": "PATCH_TYPE_APPLY", "fieldManager": "docs",
    "value": {
      "apiVersion": "v1", "kind": "ConfigMap",
      "metadata": {"name": "banner"},
      "data": {"text": "Open until 20:00"}
    }
  }'
