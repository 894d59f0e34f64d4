import kubeconnect

settings = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "banner", "namespace": "shop"},
    "data": {"text": "Open until 20:00"},
}
with kubeconnect.Client("http://127.0.0.1:8080") as client:
    try:
        result = client.apply(settings, field_manager="docs")
        print(result.object.name, "is applied")
    except kubeconnect.Conflict as error:
        for cause in error.causes:
            print(cause.field, cause.message)
