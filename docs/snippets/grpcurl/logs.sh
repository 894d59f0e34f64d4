grpcurl -plaintext -d '{
    "namespace": "shop",
    "related": {
      "type": "RELATION_TYPE_SELECTED_BY",
      "resource": "deployments", "namespace": "shop", "name": "web"
    },
    "line_filter": {"regex": "GET|POST"},
    "tail_lines": 10,
    "follow": true
  }' 127.0.0.1:8080 kubeconnect.v1.PodService/GetLogLines
