import kubeconnect
from kubeconnect import Column

columns = {
    "node": "spec.nodeName",
    "phase": "status.phase",
    "cpu": Column("spec.containers[*].resources.requests.cpu", "quantity", "sum"),
}
with kubeconnect.Client("http://127.0.0.1:8080") as client:
    pods = client.list("pods", fields=columns).to_pandas()
print(pods.groupby("namespace")["cpu"].sum().sort_values(ascending=False))
