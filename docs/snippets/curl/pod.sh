token=$(cat /var/run/secrets/kubernetes.io/serviceaccount/token)
curl --silent "${KUBECONNECT_ADDRESS:-https://kubeconnect.kubeconnect.svc}/kubeconnect.v1.AccessService/WhoAmI" \
  --header "Authorization: Bearer $token" \
  --header 'Content-Type: application/json' --data '{}'
