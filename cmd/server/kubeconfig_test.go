package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

const ownKubeconfig = `apiVersion: v1
kind: Config
current-context: main
clusters: [{name: cluster, cluster: {server: "https://10.0.0.1:6443", certificate-authority-data: "QQ=="}}]
contexts:
- {name: main, context: {cluster: cluster, user: plugin, namespace: shop}}
- {name: other, context: {cluster: cluster, user: file}}
- {name: broken, context: {cluster: cluster, user: nobody}}
users:
- {name: plugin, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login, interactiveMode: Never}}}
- {name: file, user: {tokenFile: token}}
`

func TestKubeconfig_KeepsTheCredentialsOfTheContext(t *testing.T) {
	folder := t.TempDir()
	own, authority := filepath.Join(folder, "config"), filepath.Join(folder, "ca.crt")
	for path, text := range map[string]string{own: ownKubeconfig, authority: "the authority"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		args                                    []string
		plugin, tokenFile, namespace, authority string
		err                                     string
	}{
		"a plugin":             {args: []string{"--server", "https://kc.example.com"}, plugin: "login", namespace: "shop"},
		"a token file":         {args: []string{"--server", "https://kc.example.com", "--context", "other"}, tokenFile: filepath.Join(folder, "token")},
		"an authority":         {args: []string{"--server", "https://kc.example.com", "--certificate-authority", authority}, plugin: "login", namespace: "shop", authority: "the authority"},
		"this machine":         {args: []string{"--server", "http://127.0.0.1:8080"}},
		"plain text":           {args: []string{"--server", "http://kc.example.com"}, err: "plain text"},
		"no server":            {err: "--server is required"},
		"no URL":               {args: []string{"--server", "kc.example.com"}, err: "give a URL"},
		"no such context":      {args: []string{"--server", "https://kc.example.com", "--context", "missing"}, err: `no context "missing"`},
		"a context of nobody":  {args: []string{"--server", "https://kc.example.com", "--context", "broken"}, err: "has no user"},
		"a missing authority":  {args: []string{"--server", "https://kc.example.com", "--certificate-authority", folder + "/missing"}, err: "--certificate-authority"},
		"an argument":          {args: []string{"https://kc.example.com"}, err: "unexpected argument"},
		"a missing kubeconfig": {args: []string{"--server", "https://kc.example.com", "--kubeconfig", folder + "/missing"}, err: "--kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			args := append([]string{"--kubeconfig", own}, test.args...)
			err := runKubeconfig(args, &out)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			read, err := clientcmd.Load([]byte(out.String()))
			if err != nil {
				t.Fatal(err)
			}
			current := read.Contexts[read.CurrentContext]
			user, cluster := read.AuthInfos[current.AuthInfo], read.Clusters[current.Cluster]
			plugin := ""
			if user.Exec != nil {
				plugin = user.Exec.Command
			}
			if plugin != test.plugin || user.TokenFile != test.tokenFile || current.Namespace != test.namespace ||
				string(cluster.CertificateAuthorityData) != test.authority || cluster.Server != test.args[1] {
				t.Errorf("printed:\n%s", out.String())
			}
		})
	}
}
