package main

import (
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func TestKubeconfig_HasServerAndCredentials(t *testing.T) {
	dir := makeAll(t)
	if err := writeKubeconfig(dir, 20000, adminUser, dir.kubeconfig()); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", dir.kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:20000" {
		t.Errorf("server %s", config.Host)
	}
	if len(config.CAData) == 0 || len(config.CertData) == 0 || len(config.KeyData) == 0 {
		t.Error("a certificate or key is missing")
	}
}
