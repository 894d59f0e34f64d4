package preflight

import (
	"context"
	"fmt"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// resources checks the resources that the settings name, or all resources of the cluster if none is
// preloaded.
func (f Features) resources(ctx context.Context, reviewer reviewer) (results []Result) {
	for _, name := range f.Uncached {
		if _, err := f.Resolver.Resolve(ctx, name); err != nil {
			results = append(results, worse(Warning, "--uncached "+name, err.Error(),
				"The name has no effect: if it is misspelled, the resource that it should name is cached.", "Correct the name."))
		}
	}
	for _, name := range f.Preload {
		results = append(results, f.preloaded(ctx, reviewer, name))
	}
	if len(f.Preload) == 0 {
		results = append(results, f.readable(ctx, reviewer))
	}
	return results
}

// preloaded checks one resource of --preload.
func (f Features) preloaded(ctx context.Context, reviewer reviewer, name string) Result {
	check := "--preload " + name
	resource, err := f.Resolver.Resolve(ctx, name)
	if err != nil {
		return worse(Warning, check, err.Error(), "The resource is not served.", "Correct the name, or install what defines the resource.")
	}
	if !resource.Cacheable() {
		return worse(Warning, check, resource.String()+" is not cached: --uncached names it, or an aggregated API serves it, or it cannot be watched",
			"Each read of it goes to the API server.", "Remove it from --preload, or see --uncached and --cache-aggregated.")
	}
	return reviewer.check(ctx, need{
		check, Failed, rule(resource.Group, listWatch, []string{resource.Name}),
		"Callers cannot read " + resource.GroupResource().String() + ", also if they have the permission.",
	})
}

// readable checks how many resources of the cluster can be cached.
func (f Features) readable(ctx context.Context, reviewer reviewer) Result {
	const check = "resources"
	types, _, err := f.Resolver.Types(ctx)
	if err != nil {
		return worse(Failed, check, err.Error(), "It is unknown which resources the cluster has.", "Call again; look at the API server if it persists.")
	}
	cacheable := cacheableOf(types)
	allowed := 0
	for _, resource := range cacheable {
		denied, err := reviewer.denied(ctx, rule(resource.Group, listWatch, []string{resource.Name}).questions())
		if err == nil && len(denied) == 0 {
			allowed++
		}
	}
	found := fmt.Sprintf("allowed to list and watch %d of %d resources", allowed, len(cacheable))
	if allowed == 0 {
		return worse(Failed, check, found, "No caller can read anything from the service's caches.",
			"Grant the account list and watch of the resources to serve, or name them by --preload, and they are checked here.")
	}
	return ok(check, found)
}

func cacheableOf(types []discovery.Type) (cacheable []object.Resource) {
	for _, one := range types {
		if one.Cacheable() {
			cacheable = append(cacheable, one.Resource)
		}
	}
	return cacheable
}
