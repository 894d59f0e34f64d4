package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	pollInterval = 25 * time.Millisecond
	// checkTimeout bounds one check, so that a check without a response is repeated.
	checkTimeout = 5 * time.Second
)

var getOptions = metav1.GetOptions{}

// A check returns nil once a component is ready, or an error that describes what is missing.
type check func(ctx context.Context) error

// answersOK checks that a GET of the address returns status 200.
func answersOK(client *http.Client, address string) check {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s returned %s", address, response.Status)
		}
		return nil
	}
}

// clientWith returns an HTTP client that trusts the authority and presents the user's certificate.
func clientWith(dir layout, authority, user string) (*http.Client, error) {
	trusted, err := os.ReadFile(dir.pki(authority + ".crt"))
	if err != nil {
		return nil, err
	}
	shown, err := tls.LoadX509KeyPair(dir.pki(user+".crt"), dir.pki(user+".key"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{shown}}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config}}, nil
}

// nodesReady checks that the wanted number of nodes is ready and accepts pods.
func nodesReady(client kubernetes.Interface, want int) check {
	return func(ctx context.Context) error {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		ready := 0
		for i := range nodes.Items {
			if takesPods(&nodes.Items[i]) {
				ready++
			}
		}
		if ready < want {
			return fmt.Errorf("%d of %d nodes are ready", ready, want)
		}
		return nil
	}
}

// takesPods reports whether a node is ready and does not have the taint that every new node has
// until the node lifecycle controller observes its readiness.
func takesPods(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
