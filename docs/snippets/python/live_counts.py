import kubeconnect
from kubeconnect import Sum

cpu = {"cpu": Sum("spec.containers[*].resources.requests.cpu")}
with kubeconnect.Client("http://127.0.0.1:8080") as client:
    with client.watch_counts("pods", group_by=["status.phase"], aggregates=cpu) as live:
        for count in live:
            print(count.total, "pods request", count.aggregates["cpu"].exact, "CPUs")
            for group in count.groups:
                print(" ", *group.values, group.count)
