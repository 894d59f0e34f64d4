curl --silent http://127.0.0.1:8080/kubeconnect.v1.ResourceService/Patch \
  --header 'Content-Type: application/json' --data '{
    "resource": "deployments.apps", "namespace": "shop", "name": "web",
    "type": "PATCH_TYPE_MERGE",
    "value": {"spec": {"replicas": 4}}
  }'
