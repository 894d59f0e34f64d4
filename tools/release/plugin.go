package main

import (
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// pluginName is the name of the kubectl plugin, `kubectl live-state`. The naming guide of krew asks
// for lower case and hyphens, and refuses names that begin with kube and names that are too general,
// such as connect.
const pluginName = "live-state"

// plugin is the manifest of a plugin in an index of krew (krew.googlecontainertools.github.com/v1alpha2).
type plugin struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   pluginMetadata `json:"metadata"`
	Spec       pluginSpec     `json:"spec"`
}

type pluginMetadata struct {
	Name string `json:"name"`
}

type pluginSpec struct {
	Version          string           `json:"version"`
	Homepage         string           `json:"homepage"`
	ShortDescription string           `json:"shortDescription"`
	Description      string           `json:"description"`
	Caveats          string           `json:"caveats"`
	Platforms        []pluginPlatform `json:"platforms"`
}

type pluginPlatform struct {
	Selector metav1.LabelSelector `json:"selector"`
	URI      string               `json:"uri"`
	SHA256   string               `json:"sha256"`
	Bin      string               `json:"bin"`
}

// writePlugin writes the manifest of the kubectl plugin, which installs the archives in the folder.
func (s source) writePlugin(output string) error {
	manifest := plugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2",
		Kind:       "Plugin",
		Metadata:   pluginMetadata{Name: pluginName},
		Spec: pluginSpec{
			Version:          "v" + s.version,
			Homepage:         home,
			ShortDescription: "Serve the live state of the cluster on this machine",
			Description: `Follows the cluster of the current context, and serves its live state on
this machine: a console in the browser, and an API (Connect, gRPC, gRPC-Web)
for Python, TypeScript, curl and grpcurl. Every program here shares one watch
for each resource. The permissions are those of the kubeconfig.
`,
			Caveats: `Run

    kubectl live-state --auth none

and open http://127.0.0.1:8080. Every program on this machine then acts as the
user of the kubeconfig, by this service. --context and --kubeconfig stand
after the name of the plugin.
`,
		},
	}
	for _, p := range binaryPlatforms {
		sum, err := checksum(filepath.Join(output, s.archiveName(p)))
		if err != nil {
			return err
		}
		manifest.Spec.Platforms = append(manifest.Spec.Platforms, pluginPlatform{
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"os": p.os, "arch": p.arch}},
			URI:      home + "/releases/download/v" + s.version + "/" + s.archiveName(p),
			SHA256:   sum,
			Bin:      p.program(),
		})
	}
	text, err := yaml.Marshal(manifest)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(output, pluginName+".yaml"), text, 0o644)
}
