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
	// checkTimeout bounds one question, so that a lost answer is asked for again.
	checkTimeout = 5 * time.Second
)

var getOptions = metav1.GetOptions{}

// A check returns nil once a component can be used, or says what is missing.
type check func(ctx context.Context) error

// answersOK checks that a GET of the address is answered with 200.
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
			return fmt.Errorf("%s answered %s", address, response.Status)
		}
		return nil
	}
}

// clientWith is an HTTP client that trusts the authority and shows the user's
// certificate.
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

// nodesReady checks that so many nodes are ready and take pods.
func nodesReady(client kubernetes.Interface, wanted int) check {
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
		if ready < wanted {
			return fmt.Errorf("%d of %d nodes are ready", ready, wanted)
		}
		return nil
	}
}

// takesPods tells whether a node is ready and free of the taint that every new
// node has until the node lifecycle controller sees that.
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
