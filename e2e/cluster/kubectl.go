package main

import (
	"os"

	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// kubectlName is the argument before those of kubectl.
const kubectlName = "kubectl"

// runKubectl runs kubectl of the version of the control plane with its arguments, which begin with its name. It ends
// the process if kubectl fails. k8s.io/kubernetes/cmd/kubectl does the same, but cannot be imported.
func runKubectl(args []string) {
	os.Args = args // kubectl itself searches them for the names of plugins
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
