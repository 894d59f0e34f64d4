import kubeconnect

with kubeconnect.Client("http://127.0.0.1:8080") as client:
    client.restart("deployments", "web", namespace="shop")
    try:
        web = client.wait_for("deployments", "web", "rollout", namespace="shop", timeout=300)
        print(web.name, "is rolled out")
    except kubeconnect.WaitTimeout as error:
        print(error.message)
