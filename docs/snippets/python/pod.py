import kubeconnect

with kubeconnect.connect() as client:
    print("authenticated as", client.who_am_i().username)
    print(client.count("pods").total, "pods")
