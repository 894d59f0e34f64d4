package clients_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthentication "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// testContext is the context of the kubeconfigs of these tests. It is not their current one.
const testContext = "of-the-test"

// newKubeconfig writes a kubeconfig of a user, and returns its path. Its cluster is one that nothing
// can reach.
func newKubeconfig(t *testing.T, user clientcmdapi.AuthInfo) string {
	t.Helper()
	return newKubeconfigOf(t, &clientcmdapi.Cluster{Server: "https://127.0.0.1:1", ProxyURL: "http://127.0.0.1:1"}, user)
}

func newKubeconfigOf(t *testing.T, cluster *clientcmdapi.Cluster, user clientcmdapi.AuthInfo) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = cluster
	config.AuthInfos["ann"] = &user
	config.Contexts[testContext] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "ann"}
	config.Contexts["other"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "nobody"}
	config.CurrentContext = "other"
	path := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// certificateFiles returns a user with a certificate and its key in files.
func certificateFiles(t *testing.T, certificate, key []byte) clientcmdapi.AuthInfo {
	t.Helper()
	folder := t.TempDir()
	user := clientcmdapi.AuthInfo{
		ClientCertificate: filepath.Join(folder, "client.crt"), ClientKey: filepath.Join(folder, "client.key"),
	}
	replaceFile(t, user.ClientCertificate, string(certificate))
	replaceFile(t, user.ClientKey, string(key))
	return user
}

// execUser returns a user of an exec plugin.
func execUser(command string) clientcmdapi.AuthInfo {
	return clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion:      clientauthentication.SchemeGroupVersion.String(),
		Command:         command,
		InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}}
}

// newScript writes an executable script, and returns its path.
func newScript(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// plugin is an exec plugin that prints one credential after another, and the last one repeatedly. It
// counts its calls.
type plugin struct{ path string }

func newPlugin(t *testing.T, statuses ...clientauthentication.ExecCredentialStatus) plugin {
	t.Helper()
	p := plugin{newScript(t, fmt.Sprintf(`cd "$(dirname "$0")"
echo >> calls
count=$(wc -l < calls)
cat credential-$((count < %d ? count : %[1]d))`, len(statuses)))}
	for i, status := range statuses {
		credential := clientauthentication.ExecCredential{
			TypeMeta: metav1.TypeMeta{APIVersion: clientauthentication.SchemeGroupVersion.String(), Kind: "ExecCredential"},
			Status:   &status,
		}
		content, err := json.Marshal(credential)
		if err != nil {
			t.Fatal(err)
		}
		replaceFile(t, filepath.Join(filepath.Dir(p.path), fmt.Sprintf("credential-%d", i+1)), string(content))
	}
	return p
}

func (p plugin) user() clientcmdapi.AuthInfo { return execUser(p.path) }

// wantCalls fails the test unless the plugin was called as often.
func (p plugin) wantCalls(t *testing.T, want int) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(filepath.Dir(p.path), "calls"))
	if calls := strings.Count(string(content), "\n"); err != nil || calls != want {
		t.Errorf("the plugin was called %d times (%v), want %d", calls, err, want)
	}
}

// tokenStatus returns the credential of a token, which does not expire if expires is nil.
func tokenStatus(token string, expires *time.Time) clientauthentication.ExecCredentialStatus {
	status := clientauthentication.ExecCredentialStatus{Token: token}
	if expires != nil {
		status.ExpirationTimestamp = &metav1.Time{Time: *expires}
	}
	return status
}

// certificateStatus returns the credential of a certificate.
func certificateStatus(certificate, key []byte) clientauthentication.ExecCredentialStatus {
	return clientauthentication.ExecCredentialStatus{ClientCertificateData: string(certificate), ClientKeyData: string(key)}
}
