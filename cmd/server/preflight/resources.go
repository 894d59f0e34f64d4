package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// resources checks the resources that the settings name, or all resources of the cluster if none is
// preloaded.
func (f Features) resources(ctx context.Context, reviewer reviewer) (results []Result) {
	for _, limit := range f.Limits {
		if _, err := f.Resolver.Resolve(ctx, limit.Resource); err != nil {
			results = append(results, worse(Warning, limit.Flag+" "+limit.Resource, err.Error(),
				"The name has no effect: if it is misspelled, the resource that it should name is cached, with all its objects.", "Correct the name."))
		}
	}
	for _, name := range f.Preload {
		results = append(results, f.preloaded(ctx, reviewer, name))
	}
	if len(f.Preload) == 0 {
		results = append(results, f.readable(ctx))
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
	if names, err := f.Namespaces(ctx, resource); err == nil && len(names) > 0 {
		return ok(check, fmt.Sprintf("allowed to list, watch %s in %s", resource.GroupResource(), some(names)))
	}
	return reviewer.check(ctx, need{
		check, Failed, rule(resource.Group, listWatch, []string{resource.Name}),
		"It is not cached: each read of it goes to the API server, as the caller.",
	})
}

// maxNamed bounds the namespaces that a result names.
const maxNamed = 5

// some returns the names of namespaces, of which there is at least one.
func some(names []string) string {
	switch {
	case len(names) == 1:
		return "the namespace " + names[0]
	case len(names) > maxNamed:
		return fmt.Sprintf("the namespaces %s and %d others", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
	}
	return "the namespaces " + strings.Join(names, ", ")
}

// readable checks how many resources of the cluster can be cached, and where.
func (f Features) readable(ctx context.Context) Result {
	const check = "resources"
	types, _, err := f.Resolver.Types(ctx)
	if err != nil {
		return worse(Failed, check, err.Error(), "It is unknown which resources the cluster has.", "Call again; look at the API server if it persists.")
	}
	cacheable := cacheableOf(types)
	inAll, inSome := 0, 0
	var namespaces []string
	for _, resource := range cacheable {
		names, err := f.Namespaces(ctx, resource)
		switch {
		case err != nil: // not known to be allowed
		case names == nil:
			inAll++
		case len(names) > 0:
			inSome++
			namespaces = append(namespaces, names...)
		}
	}
	found := fmt.Sprintf("allowed to list and watch %d of %d resources", inAll+inSome, len(cacheable))
	if inSome > 0 {
		found += fmt.Sprintf(", %d of them in %s only", inSome, some(slices.Compact(slices.Sorted(slices.Values(namespaces)))))
	}
	if inAll+inSome == 0 {
		return worse(Failed, check, found, "Nothing is cached: each read goes to the API server, as the caller.",
			"Grant the account list and watch of the resources to serve, or name the namespaces that it may read by --namespaces.")
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
