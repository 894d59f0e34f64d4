package main

import (
	"context"
	"maps"

	"k8s.io/client-go/kubernetes"
)

// controllerManagerFlags returns flags for the default controllers, each with a service account of
// its own. The node lifecycle controller is required: without it new nodes keep the not-ready taint.
func controllerManagerFlags(dir layout, p ports) flags {
	f := controllerFlags(dir, controllerManagerName, p.ControllerManager)
	maps.Copy(f, flags{
		"use-service-account-credentials":  "true",
		"service-account-private-key-file": dir.pki("sa.key"),
		"root-ca-file":                     dir.pki(clusterCA + ".crt"),
		"cluster-signing-cert-file":        dir.pki(clusterCA + ".crt"),
		"cluster-signing-key-file":         dir.pki(clusterCA + ".key"),
	})
	return f
}

// controllerManagerReady checks its health, and the service account without which no pod can be
// created in the default namespace.
func controllerManagerReady(healthy check, client kubernetes.Interface) check {
	return func(ctx context.Context) error {
		if err := healthy(ctx); err != nil {
			return err
		}
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", getOptions)
		return err
	}
}
