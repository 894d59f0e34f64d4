package main

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// contextName is the name of the cluster and of the context in every kubeconfig.
const contextName = "devcluster"

// writeKubeconfig writes the kubeconfig of a user. It embeds its certificates, so the file can be
// moved.
func writeKubeconfig(dir layout, port int, user, path string) error {
	config, err := kubeconfigFor(dir, port, user)
	if err != nil {
		return fmt.Errorf("kubeconfig of %s: %w", user, err)
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("kubeconfig of %s: %w", user, err)
	}
	return writeFile(path, content)
}

func kubeconfigFor(dir layout, port int, user string) (*api.Config, error) {
	authority, err := os.ReadFile(dir.pki(clusterCA + ".crt"))
	if err != nil {
		return nil, err
	}
	certificate, err := os.ReadFile(dir.pki(user + ".crt"))
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(dir.pki(user + ".key"))
	if err != nil {
		return nil, err
	}
	config := api.NewConfig()
	config.Clusters[contextName] = &api.Cluster{Server: httpsURL(port), CertificateAuthorityData: authority}
	config.AuthInfos[user] = &api.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}
	config.Contexts[contextName] = &api.Context{Cluster: contextName, AuthInfo: user}
	config.CurrentContext = contextName
	return config, nil
}
