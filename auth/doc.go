// Package auth says who is calling, and makes the clients that act as them.
//
// There are two modes. [KubeconfigUser] lets every caller in and acts as the
// kubeconfig's user; it is for a developer's own machine, and [Loopback] keeps
// everyone else out. [Cluster] is for a service in a cluster; until it can ask the
// cluster who a caller is, it refuses everyone.
package auth
