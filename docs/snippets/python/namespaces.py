import kubeconnect

with kubeconnect.Client("http://127.0.0.1:8080") as client:
    pods = client.list("pods")
    if pods.namespaces:
        print("the list covers only", *pods.namespaces)
    print(pods.total, "pods")
