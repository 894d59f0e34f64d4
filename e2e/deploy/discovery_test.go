package deploy_test

import "k8s.io/client-go/discovery"

// fresh is a discovery client that remembers nothing, where client-go asks for one
// that does.
type fresh struct{ discovery.DiscoveryInterface }

// Fresh implements discovery.CachedDiscoveryInterface.
func (fresh) Fresh() bool { return true }

// Invalidate implements discovery.CachedDiscoveryInterface.
func (fresh) Invalidate() {}
