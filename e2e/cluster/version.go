package main

import (
	"fmt"
	"runtime/debug"

	"k8s.io/component-base/version"
)

// kubernetesModule is where the components come from.
const kubernetesModule = "k8s.io/kubernetes"

// checkVersion makes sure that the version which the API server will report is
// that of the code in this binary. Only the linker can set it, so a build
// without the flag, or with that of another version, is refused.
func checkVersion() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	reported, compiled := version.Get().GitVersion, moduleVersion(info, kubernetesModule)
	if reported != compiled {
		return fmt.Errorf("this binary would report Kubernetes %s but is made from %s: build it with -ldflags '-X k8s.io/component-base/version.gitVersion=%[2]s'", reported, compiled)
	}
	return nil
}

func moduleVersion(info *debug.BuildInfo, path string) string {
	for _, module := range info.Deps {
		if module.Path == path {
			return module.Version
		}
	}
	return ""
}
