import kubeconnect

with kubeconnect.Client("http://127.0.0.1:8080") as client:
    result = client.patch(
        "deployments.apps", "web", {"spec": {"replicas": 4}}, namespace="shop", type="merge"
    )
    version = result.object.resource_version
    web = client.get("deployments.apps", "web", namespace="shop", min_resource_version=version)
    print(web.name, "has", web["spec"]["replicas"], "replicas")
