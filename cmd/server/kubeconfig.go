package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/cmd/server/config"
)

const kubeconfigCommand = "kubeconfig"

const kubeconfigHead = `Print a kubeconfig that points at a running service, for kubectl and other programs of Kubernetes.

Usage:
  kubeconnect kubeconfig --server URL [flags]

The credentials are those of the chosen context: tokens, token files, client certificates and plugins
are kept as they are. A service at http:// on this machine gets none. Nothing is written but the output:

  kubeconnect kubeconfig --server https://kubeconnect.example.com > kubeconnect.yaml
  kubectl --kubeconfig kubeconnect.yaml get pods

Flags:
`

// kubeconfigOptions are the flags of the command "kubeconfig".
type kubeconfigOptions struct {
	server, kubeconfig, context, authority string
}

func (o *kubeconfigOptions) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet(kubeconfigCommand, pflag.ContinueOnError)
	flags.StringVar(&o.server, "server", "", "the `URL` of the service; required")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "the kubeconfig `file` with the credentials; KUBECONFIG or the default one by default")
	flags.StringVar(&o.context, "context", "", "the `name` of its context; the current one by default")
	flags.StringVar(&o.authority, "certificate-authority", "",
		"a PEM `file` with the authority of the service's certificate; that of the system by default")
	flags.Usage = func() {}
	return flags
}

func kubeconfigUsage() string {
	return kubeconfigHead + new(kubeconfigOptions).flags().FlagUsagesWrapped(config.UsageColumns)
}

// runKubeconfig runs the command "kubeconfig".
func runKubeconfig(args []string, out io.Writer) error {
	var options kubeconfigOptions
	flags := options.flags()
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see kubeconnect help %s", flags.Arg(0), kubeconfigCommand)
	}
	made, err := options.make()
	if err != nil {
		return err
	}
	text, err := clientcmd.Write(*made)
	if err == nil {
		_, err = out.Write(text)
	}
	return err
}

// make returns the kubeconfig.
func (o *kubeconfigOptions) make() (*clientcmdapi.Config, error) {
	address, err := url.Parse(o.server)
	switch {
	case o.server == "":
		return nil, errors.New("--server is required: give the URL of the service, such as https://kubeconnect.example.com")
	case err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https":
		return nil, fmt.Errorf("--server %q: give a URL, such as https://kubeconnect.example.com", o.server)
	}
	cluster := &clientcmdapi.Cluster{Server: o.server}
	if address.Scheme == "http" {
		if err := auth.CheckLoopback(address.Host); err != nil {
			return nil, fmt.Errorf("--server %s: credentials are not sent over plain text beyond this machine: give a URL with https", o.server)
		}
		return kubeconfigFor(cluster, &clientcmdapi.AuthInfo{}, ""), nil
	}
	if o.authority != "" {
		if cluster.CertificateAuthorityData, err = os.ReadFile(o.authority); err != nil {
			return nil, fmt.Errorf("--certificate-authority: %w", err)
		}
	}
	user, namespace, err := o.credentials()
	if err != nil {
		return nil, err
	}
	return kubeconfigFor(cluster, user, namespace), nil
}

// credentials returns the user and the namespace of the chosen context. Paths of files are absolute.
func (o *kubeconfigOptions) credentials() (*clientcmdapi.AuthInfo, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	read, err := rules.Load()
	if err != nil {
		return nil, "", fmt.Errorf("--kubeconfig: %w", err)
	}
	name := o.context
	if name == "" {
		name = read.CurrentContext
	}
	chosen, ok := read.Contexts[name]
	if !ok {
		return nil, "", fmt.Errorf("--context: the kubeconfig has no context %q", name)
	}
	user, ok := read.AuthInfos[chosen.AuthInfo]
	if !ok {
		return nil, "", fmt.Errorf("--context: the context %q has no user", name)
	}
	for _, file := range []*string{&user.ClientCertificate, &user.ClientKey, &user.TokenFile} {
		if *file != "" {
			if *file, err = filepath.Abs(*file); err != nil {
				return nil, "", err
			}
		}
	}
	return user, chosen.Namespace, nil
}

// kubeconfigFor returns a kubeconfig with one context.
func kubeconfigFor(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo, namespace string) *clientcmdapi.Config {
	const name = "kubeconnect"
	made := clientcmdapi.NewConfig()
	made.Clusters[name], made.AuthInfos[name], made.CurrentContext = cluster, user, name
	made.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	return made
}
