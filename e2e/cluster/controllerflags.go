package main

import "strconv"

// The client rate limits of controllers, so high that no test waits for them.
const (
	requestsPerSecond = "1000"
	requestBurst      = "2000"
)

// controllerFlags returns the flags that the controller manager and the scheduler share. There is
// one instance of each, so they start without leader election.
func controllerFlags(dir layout, name string, port int) flags {
	return flags{
		"bind-address":         loopback,
		"secure-port":          strconv.Itoa(port),
		"tls-cert-file":        dir.pki(serverName + ".crt"),
		"tls-private-key-file": dir.pki(serverName + ".key"),
		"client-ca-file":       dir.pki(clusterCA + ".crt"),

		"kubeconfig":                dir.user(name),
		"authentication-kubeconfig": dir.user(name),
		"authorization-kubeconfig":  dir.user(name),

		"leader-elect":   "false",
		"kube-api-qps":   requestsPerSecond,
		"kube-api-burst": requestBurst,
		"profiling":      "false",
	}
}
