package change

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// The API server ignores the resource version of a manifest if it creates the object, as it may for
// an apply patch and for an update of some kinds. It never creates an object with a UID. So a change
// that requires a version and no UID, and that can create its target, gets the UID of the object
// that exists before the change is sent. If the object is deleted or replaced in between, its UID or
// its version has changed, and the API server rejects the change.

// versioned is a change whose manifest can require a resource version.
type versioned interface {
	Change
	// head returns the change's own metadata.
	head() Head
	// creates reports whether the API server may create a missing target.
	creates(Target) bool
	// withUID returns the change with a UID in its metadata.
	withUID(types.UID) (Change, error)
}

func (u Update) head() Head { return u.Manifest.Head }

// creates includes the kinds of aggregated APIs, because their servers decide themselves. The API
// server does not create custom resources.
func (u Update) creates(at Target) bool {
	if !at.Resource.BuiltIn() && at.Resource.Refused {
		return at.Subresource == ""
	}
	return createdByUpdate[at.Resource.GroupResource()] && at.acceptsObject()
}

func (u Update) withUID(uid types.UID) (Change, error) {
	var err error
	u.Manifest, err = u.Manifest.WithPreconditions(&metav1.Preconditions{UID: &uid})
	return u, err
}

// head returns the metadata of an apply patch. The API server reports a patch that is not an object.
func (p Patch) head() Head {
	applied, err := ParseData(p.Body)
	if err != nil {
		return Head{}
	}
	return applied.Head
}

func (p Patch) creates(at Target) bool {
	return p.Kind == types.ApplyYAMLPatchType && at.acceptsObject()
}

func (p Patch) withUID(uid types.UID) (Change, error) {
	return p.WithPreconditions(&metav1.Preconditions{UID: &uid})
}

// createdByUpdate are the built-in kinds of which an update can create an object: those whose
// strategy in the API server has AllowCreateOnUpdate.
var createdByUpdate = map[schema.GroupResource]bool{
	{Resource: "endpoints"}:   true,
	{Resource: "events"}:      true,
	{Resource: "limitranges"}: true,
	{Resource: "services"}:    true,
	{Group: "coordination.k8s.io", Resource: "leasecandidates"}:           true,
	{Group: "coordination.k8s.io", Resource: "leases"}:                    true,
	{Group: "events.k8s.io", Resource: "events"}:                          true,
	{Group: "node.k8s.io", Resource: "runtimeclasses"}:                    true,
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}: true,
	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}:        true,
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}:        true,
	{Group: "rbac.authorization.k8s.io", Resource: "roles"}:               true,
}

// acceptsObject reports whether a change to a target can create the object: to the object itself, or
// to the status of a service. The API server returns NotFound for other subresources.
func (t Target) acceptsObject() bool {
	return t.Subresource == "" || t.Subresource == "status" && t.Resource.GroupResource() == schema.GroupResource{Resource: "services"}
}

// ofExisting returns a change that cannot create its target if it requires a resource version. The
// version is empty if the change is returned as it is.
func (w Writer) ofExisting(ctx context.Context, dest Target, change Change) (_ Change, version string, err error) {
	candidate, ok := change.(versioned)
	if !ok || !candidate.creates(dest) {
		return change, "", nil
	}
	required := candidate.head().Metadata
	if required.ResourceVersion == "" || required.UID != "" {
		return change, "", nil
	}
	uid, err := w.uid(ctx, dest)
	if apierrors.IsNotFound(err) && !discovery.Contradicts(err) {
		return nil, "", dest.versionConflict(required.ResourceVersion)
	}
	if err != nil {
		return nil, "", err
	}
	change, err = candidate.withUID(uid)
	return change, required.ResourceVersion, err
}

// uid reads the UID of the object of a target at the API server.
func (w Writer) uid(ctx context.Context, dest Target) (types.UID, error) {
	dest.Subresource = ""
	request := dest.addTo(w.Clients.Typed.CoreV1().RESTClient().Get()).MaxRetries(0)
	response, err := send(ctx, object.RequestMetadata(request, dest.Resource, object.PartialKind))
	if err != nil {
		return "", err
	}
	body, err := response.Raw()
	if err != nil {
		return "", err
	}
	existing, err := object.Read(body)
	if err != nil {
		return "", err
	}
	if existing.UID() == "" {
		return "", fmt.Errorf("%s %q has no UID, so its resource version cannot be required", dest.Resource.GroupResource(), dest.Name)
	}
	return types.UID(existing.UID()), nil
}

// asVersionConflict replaces the error for an object that was deleted after ofExisting has read it.
// The API server's message is about a UID that the caller has not sent.
func asVersionConflict(err error, dest Target, version string) error {
	var failed *apierrors.StatusError
	if version == "" || !errors.As(err, &failed) || !isAboutUID(failed.ErrStatus) {
		return err
	}
	return dest.versionConflict(version)
}

func (t Target) versionConflict(version string) error {
	return apierrors.NewConflict(t.Resource.GroupResource(), t.Name,
		fmt.Errorf("there is no object with the required resource version %s", version))
}
