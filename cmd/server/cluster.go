package main

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterConfig is how to reach the cluster that the settings name.
func clusterConfig(s settings) (*rest.Config, error) {
	config, err := findConfig(s)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "kubeconnect"
	// Compressing costs the API server more than the network saves.
	config.DisableCompression = true
	return config, nil
}

func findConfig(s settings) (*rest.Config, error) {
	if s.kubeconfig == "" {
		if config, err := rest.InClusterConfig(); !errors.Is(err, rest.ErrNotInCluster) {
			return config, err
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: s.context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no cluster to serve: give --kubeconfig FILE or set KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return config, nil
}
