package deploy_test

import "k8s.io/client-go/discovery"

// fresh is a discovery client without a cache, where client-go requires one with a cache.
type fresh struct{ discovery.DiscoveryInterface }

// Fresh implements discovery.CachedDiscoveryInterface.
func (fresh) Fresh() bool { return true }

// Invalidate implements discovery.CachedDiscoveryInterface.
func (fresh) Invalidate() {}
