package main

import (
	"fmt"
	"runtime/debug"

	"k8s.io/component-base/version"
)

// kubernetesModule is the module of the components.
const kubernetesModule = "k8s.io/kubernetes"

// checkVersion checks that the version which the API server will report is that of the code in this
// binary. Only the linker can set it, so a build without the flag, or with that of another version,
// is rejected.
func checkVersion() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	reported, compiled := version.Get().GitVersion, moduleVersion(info, kubernetesModule)
	if reported != compiled {
		return fmt.Errorf("this binary would report Kubernetes %s but contains the code of %s: build it with -ldflags '-X k8s.io/component-base/version.gitVersion=%[2]s'", reported, compiled)
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
