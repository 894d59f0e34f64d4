package harness

import (
	"context"
	"os/exec"
	"path/filepath"
)

// Kubectl returns a command that runs kubectl of the version of the control plane, as an administrator. It needs no
// installed kubectl, and reads and writes no file of the user.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, c.command[0], append([]string{"kubectl", "--kubeconfig", c.Kubeconfig}, args...)...)
	command.Env = append(command.Environ(), "KUBERC=off", "KUBECACHEDIR="+filepath.Join(c.dir, "kubectl"))
	command.WaitDelay = outputGrace
	return command
}
