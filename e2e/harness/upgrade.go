package harness

// PreviousVersion is the minor version of Kubernetes before that of StartCluster.
const PreviousVersion = "1.36"

// PreviousDevcluster returns the path of the devcluster with the previous version of Kubernetes,
// which only `make devcluster KUBERNETES=1.36` builds.
func PreviousDevcluster() (string, error) {
	return Binary("DEVCLUSTER_PREVIOUS_BIN", "devcluster-"+PreviousVersion)
}

// StartPreviousCluster is StartCluster with the previous version of Kubernetes.
func StartPreviousCluster(args ...string) (*Cluster, error) {
	path, err := PreviousDevcluster()
	if err != nil {
		return nil, err
	}
	return startCluster(path, args...)
}

// Upgrade stops the control plane and starts that of StartCluster at the same addresses, with the
// same data, flags and certificates.
func (c *Cluster) Upgrade() error {
	path, err := devcluster()
	if err != nil {
		return err
	}
	return c.Offline(func(string) error {
		c.command[0] = path
		return nil
	})
}
