package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeconnect/kubeconnect/internal/version"
)

// A silent connection to the API server is checked by a ping after idleSeconds, and closed after
// pingSeconds more: before a review of a caller times out, so that a review which times out on a
// connection shows an API server that is slow, and not one that is away. client-go reads both from the
// environment; its own defaults are 30 and 15.
const (
	idleSeconds = "1"
	pingSeconds = "5"
)

func init() {
	setDefault("HTTP2_READ_IDLE_TIMEOUT_SECONDS", idleSeconds)
	setDefault("HTTP2_PING_TIMEOUT_SECONDS", pingSeconds)
}

func setDefault(name, value string) {
	if _, ok := os.LookupEnv(name); !ok {
		_ = os.Setenv(name, value)
	}
}

// clusterConfig returns the client configuration of the cluster that the settings select.
func clusterConfig(s settings) (*rest.Config, error) {
	config, err := findConfig(s)
	if err != nil {
		return nil, err
	}
	config.UserAgent = version.UserAgent
	// Compression costs the API server more than the network saves.
	config.DisableCompression = true
	return config, nil
}

func findConfig(s settings) (*rest.Config, error) {
	if s.kubeconfig == "" && s.context == "" {
		if config, err := rest.InClusterConfig(); !errors.Is(err, rest.ErrNotInCluster) {
			return config, err
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: s.context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no cluster to serve: set --kubeconfig FILE or KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return config, nil
}

// shownHost returns the address of the API server for logs and administrators, without a password.
func shownHost(config *rest.Config) string {
	address, err := url.Parse(config.Host)
	if err != nil || address.Host == "" { // without a scheme
		return config.Host[strings.LastIndexByte(config.Host, '@')+1:]
	}
	return address.Redacted()
}
