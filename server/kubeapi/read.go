package kubeapi

import (
	"context"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/access"
)

// cachedRead is a read that a cache may answer. It is a value.
type cachedRead struct {
	resource        informerhub.Resource
	namespace, name string
	options         internalversion.ListOptions // also of a read of one object, which has a version only
	form            form
}

// read returns what a request for a collection, or for an object, asks for, if the service caches the resource. Everything that the API
// server would reject is passed on, so that its own error is returned.
func (h *Handler) read(ctx context.Context, r *http.Request, p request, resource informerhub.Resource) (read cachedRead, err error) {
	read = cachedRead{namespace: p.namespace, name: p.name}
	if read.options, err = optionsOf(p); err != nil {
		return read, err
	}
	isSame := resource.Group == p.group && resource.Version == p.version && resource.Name == p.resource
	if !isSame || p.namespace != "" && !resource.Namespaced || p.name != "" && p.namespace == "" && resource.Namespaced {
		return read, passOnUnlessDone(ctx, errPassOn)
	}
	if read.resource, err = h.config.Targets.CachedIn(ctx, resource, p.namespace); err != nil || !read.resource.Cacheable() {
		return read, passOnUnlessDone(ctx, errPassOn)
	}
	if !h.caches(ctx, read.resource, p.namespace) {
		return read, passOnUnlessDone(ctx, errPassOn)
	}
	isKnown := false
	if read.form, isKnown = negotiate(r, read.resource, p.verb == "list"); !isKnown {
		return read, errPassOn
	}
	return read, nil
}

// caches reports whether the service caches a namespace of a resource, or all of them if it is empty. It must be known before the
// permission of the caller is checked, which is denied for what is not cached.
func (h *Handler) caches(ctx context.Context, resource informerhub.Resource, namespace string) bool {
	if !resource.Namespaced || namespace != "" {
		return true // see CachedIn
	}
	names, err := h.config.Hub.Namespaces(ctx, resource)
	return err == nil && names == nil
}

// knownParameters are the parameters of reads.
var knownParameters = []string{
	"labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch", "watch", "allowWatchBookmarks",
	"sendInitialEvents", "timeoutSeconds", "pretty", "fieldManager", "fieldValidation",
}

// optionsOf returns the options of a read, with the API server's defaults, or errPassOn for options that are unknown or invalid.
func optionsOf(p request) (options internalversion.ListOptions, err error) {
	for name := range p.query {
		if !slices.Contains(knownParameters, name) {
			return options, errPassOn
		}
	}
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(p.query, metav1.SchemeGroupVersion, &options); err != nil {
		return options, errPassOn
	}
	internalversion.SetListOptionsDefaults(&options, true)
	if len(validation.ValidateListOptions(&options, true)) > 0 {
		return options, errPassOn
	}
	return options, nil
}

func (r cachedRead) labelSelector() string {
	if r.options.LabelSelector == nil {
		return ""
	}
	return r.options.LabelSelector.String()
}

func (r cachedRead) fieldSelector() string {
	if r.options.FieldSelector == nil {
		return ""
	}
	return r.options.FieldSelector.String()
}

func (r cachedRead) encoder() encoder { return encoder{r.resource, r.form} }

// isOfOneName reports whether a list selects the object of one name.
func (r cachedRead) isOfOneName() bool {
	if r.options.FieldSelector == nil {
		return false
	}
	_, ok := r.options.FieldSelector.RequiresExactMatch("metadata.name")
	return ok
}

// hasSelector reports whether a list selects among the objects. The API server counts the remaining objects only if it does not.
func (r cachedRead) hasSelector() bool { return r.labelSelector() != "" || r.fieldSelector() != "" }

// cacheFor returns the cache for a read, whose permission allows a scope. It returns errPassOn if the service does not cache all that
// the read names.
func (h *Handler) cacheFor(ctx context.Context, permission access.Request, scope auth.Namespaces) (*informerhub.Cache, error) {
	if !scope.All || scope.Selected != "" {
		return nil, errPassOn
	}
	cache, err := access.Cache(ctx, h.config.Hub, permission, scope)
	return cache, passOnUnlessDone(ctx, err)
}

// open returns the cache for a collection, and what the read selects in it. It returns errPassOn if the API server must answer.
func (h *Handler) open(ctx context.Context, read cachedRead, permission access.Request, scope auth.Namespaces) (*informerhub.Cache, *informerhub.Selection, error) {
	cache, err := h.cacheFor(ctx, permission, scope)
	if err != nil {
		return nil, nil, err
	}
	selection, err := cache.Select(ctx, informerhub.Query{
		Namespace: read.namespace, LabelSelector: read.labelSelector(), FieldSelector: read.fieldSelector(),
	})
	return cache, selection, passOnUnlessDone(ctx, err) // the API server says what is wrong
}
