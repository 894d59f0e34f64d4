package main

import (
	"context"
	"strconv"

	"k8s.io/client-go/kubernetes"
)

const (
	serviceRange = "10.96.0.0/16"
	// serviceIP is the first address of the range, which the API server assigns to itself.
	serviceIP = "10.96.0.1"
	issuer    = "https://kubernetes.default.svc.cluster.local"
)

// apiServerFlags returns the flags of the API server. The addresses of services and pods are
// unreachable, so the API server maintains no endpoints of its own: a reconciler for them requires
// an address that is not loopback.
func apiServerFlags(dir layout, p ports) flags {
	return flags{
		"bind-address":             loopback,
		"secure-port":              strconv.Itoa(p.APIServer),
		"advertise-address":        loopback,
		"endpoint-reconciler-type": "none",
		"service-cluster-ip-range": serviceRange,
		"allow-privileged":         "true",
		"authorization-mode":       "Node,RBAC",
		"profiling":                "false",

		"etcd-servers":  httpsURL(p.Etcd),
		"etcd-cafile":   dir.pki(etcdCA + ".crt"),
		"etcd-certfile": dir.pki(etcdClient + ".crt"),
		"etcd-keyfile":  dir.pki(etcdClient + ".key"),

		"tls-cert-file":        dir.pki(serverName + ".crt"),
		"tls-private-key-file": dir.pki(serverName + ".key"),
		"client-ca-file":       dir.pki(clusterCA + ".crt"),

		"service-account-issuer":           issuer,
		"service-account-key-file":         dir.pki("sa.pub"),
		"service-account-signing-key-file": dir.pki("sa.key"),

		"requestheader-client-ca-file":       dir.pki(frontProxyCA + ".crt"),
		"requestheader-allowed-names":        frontProxyClient,
		"requestheader-username-headers":     "X-Remote-User",
		"requestheader-group-headers":        "X-Remote-Group",
		"requestheader-extra-headers-prefix": "X-Remote-Extra-",
		"proxy-client-cert-file":             dir.pki(frontProxyClient + ".crt"),
		"proxy-client-key-file":              dir.pki(frontProxyClient + ".key"),
	}
}

// apiServerReady checks /readyz and the default namespace, which the server creates shortly after
// it starts to serve.
func apiServerReady(client kubernetes.Interface) check {
	return func(ctx context.Context) error {
		if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return err
		}
		_, err := client.CoreV1().Namespaces().Get(ctx, "default", getOptions)
		return err
	}
}
