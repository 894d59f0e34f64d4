import kubeconnect
from kubeconnect import LineFilter, selected_by

web = selected_by("deployments", "web", namespace="shop")
with kubeconnect.Client("http://127.0.0.1:8080") as client:
    with client.log_lines(
        namespace="shop",
        related=web,
        follow=True,
        tail_lines=10,
        line_filter=LineFilter(regex="GET|POST"),
    ) as lines:
        for line in lines:
            print(line.time, f"{line.pod}/{line.container}", line.text)
