// Kubeconnect serves the live state of a Kubernetes cluster over Connect, gRPC and gRPC-Web.
// docs/flags.md describes its flags.
//
// This package puts the parts of the service together, and has its commands:
//
//	main.go       the commands, and which of them runs
//	check.go      kubeconnect check, whose checks of the cluster are in preflight/
//	service.go    the parts of a service, and their start
//	shutdown.go   the order in which they stop
//	cluster.go    the configuration and the clients of the cluster: no other package builds a rest.Config
//	callers.go    how callers are authenticated and authorized
//	readiness.go  when the service is ready, and what its own account lacks
//	metrics.go    the second address: metrics, the load for peers.go, and the pages of admin.go
//
// The rest has a package of its own, which does not know the others: config/ reads the settings and follows
// their file, serving/ accepts connections and serves HTTP on them, and logging/ bounds what is logged.
package main
