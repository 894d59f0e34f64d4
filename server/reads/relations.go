package reads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// Relations resolves the relations of requests, as far as the caller can read the other objects. Its methods are
// safe for concurrent use.
type Relations struct {
	// Set once.
	hub         *informerhub.Hub
	targets     *target.Resolver
	permissions access.Permissions
	objects     *Objects
}

// Relation is a request's relation, resolved to the other object. The zero value is no relation. It is a value, and it is not
// resolved again: a stream keeps the condition, also when the other object changes.
type Relation struct {
	Requested     *RelationParams      // nil for no relation
	Related       informerhub.Related  // the resolved relation
	owner         *informerhub.Object  // the owner of a transitive relation; nil for others
	OtherResource informerhub.Resource // the resource of the other object
	// since is the version that the caches of owners in between must have reached; empty for their
	// current state.
	since string
}

// Texts returns the relation as it was requested, and the condition that it was resolved to, for
// tokens.RelatedBy; empty for no relation.
func (r Relation) Texts() (requested, found string) {
	if r.Requested == nil {
		return "", ""
	}
	return fmt.Sprintf("%v %t %s %q %q %q", r.Requested.Relation, r.Requested.transitive, r.OtherResource.GroupResource(), r.Requested.Namespace, r.Requested.Name, r.Requested.Uid),
		fmt.Sprintf("{%q %q %q %q %q}", r.Related.Namespace, r.Related.Owner, r.Related.LabelSelector, r.Related.Fields, r.Related.Among)
}

// RelationParams are the parsed fields of a relation: its type, and the other object.
type RelationParams struct {
	Relation   kubeconnectv1.RelationType
	transitive bool
	resource   string
	Namespace  string
	Name       string
	Uid        string
}

// ParseRelation returns nil if the request has no relation.
func ParseRelation(requested *kubeconnectv1.Relation) (*RelationParams, error) {
	if requested == nil {
		return nil, nil
	}
	_, known := kubeconnectv1.RelationType_name[int32(requested.GetType())]
	switch relation := requested.GetType(); {
	case relation == kubeconnectv1.RelationType_RELATION_TYPE_UNSPECIFIED:
		return nil, apierror.BadRequest("related.type is required")
	case !known:
		return nil, apierror.BadRequest("unknown related.type %d", relation)
	case requested.GetTransitive() && relation != kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY:
		return nil, apierror.BadRequest("related.transitive is for OWNED_BY only")
	case requested.GetResource() == "":
		return nil, apierror.BadRequest("related.resource is required: give one in kubectl's syntax, such as \"pods\" or \"deployments.apps\"")
	}
	return &RelationParams{
		Relation: requested.GetType(), transitive: requested.GetTransitive(),
		resource: requested.GetResource(), Namespace: requested.GetNamespace(), Name: requested.GetName(), Uid: requested.GetUid(),
	}, nil
}

// Resolve resolves a relation, for objects of a resource. The caller must have the permission to get
// the other object. Without it, the error is the same whether the object exists or not.
func (r *Relations) Resolve(ctx context.Context, requested *RelationParams, listed informerhub.Resource, consistency kubeconnectv1.Consistency) (Relation, error) {
	if requested == nil {
		return Relation{}, nil
	}
	if requested.Relation == kubeconnectv1.RelationType_RELATION_TYPE_ABOUT && aboutField[listed.GroupResource()] == "" {
		return Relation{}, apierror.BadRequest("related.type ABOUT selects events: %s are not events", listed.Name)
	}
	resource, object, err := r.otherObject(ctx, *requested, consistency)
	if err != nil {
		return Relation{}, err
	}
	found := Relation{Requested: requested, OtherResource: resource}
	found.Related, err = budget.InSlotIf(ctx, object.RetainedSize() > budget.ShortBytes, func(context.Context) (informerhub.Related, error) {
		return relatedTo(requested.Relation, resource, object, listed)
	})
	// The condition is kept for as long as the call or the stream: the caller is charged for it until then.
	if err == nil {
		err = ledger.Hold(ctx, relatedBytes(found.Related))
	}
	// Objects in between are not selected by a condition: all objects are read, and then reduced by ownedByRoot.
	if requested.transitive {
		found.owner, found.Related.Owner = object, ""
	}
	return found, err
}

// relatedBytes estimates the memory of a condition, which depends on the other object: its selector, or its owners.
func relatedBytes(related informerhub.Related) int {
	return bounds.ParsedBytes(related.LabelSelector) + len(related.Among)*relatedOwnerBytes
}

// relatedOwnerBytes estimates the memory of an owner in a condition.
const relatedOwnerBytes = 512

// otherObject returns the object that a relation names, like Get.
func (r *Relations) otherObject(ctx context.Context, requested RelationParams, consistency kubeconnectv1.Consistency) (informerhub.Resource, *informerhub.Object, error) {
	var resource informerhub.Resource
	got, err := target.OnResource(ctx, r.targets, requested.resource, func(named informerhub.Resource) (GetResult, error) {
		resource = named
		if err := target.CheckName(resource, requested.Namespace, requested.Name); err != nil {
			return GetResult{}, relatedError(err)
		}
		return r.objects.Read(ctx, resource, GetParams{Namespace: requested.Namespace, Name: requested.Name, consistency: consistency})
	})
	// An object of the same name with another UID is another object, which was created later.
	if err == nil && requested.Uid != "" && requested.Uid != got.Object.UID() {
		err = apierrors.NewNotFound(resource.GroupResource(), requested.Name)
	}
	return resource, got.Object, err
}

// relatedError returns an error about the other object. It remains a ScopeError, for which discovery is read again.
func relatedError(err error) error {
	var scope *target.ScopeError
	badRequest := apierror.BadRequest("related: %v", err)
	if errors.As(err, &scope) {
		return target.NewScopeError(badRequest)
	}
	return badRequest
}

// relatedTo returns the condition for objects of a resource to be related to an object. It copies what it
// keeps of the object, whose strings are parts of its bytes: a stream would retain these otherwise.
func relatedTo(of kubeconnectv1.RelationType, resource informerhub.Resource, object *informerhub.Object, listed informerhub.Resource) (informerhub.Related, error) {
	switch of {
	case kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY:
		return ownedBy(object, listed), nil
	case kubeconnectv1.RelationType_RELATION_TYPE_SELECTED_BY:
		return selectedBy(resource, object, listed)
	case kubeconnectv1.RelationType_RELATION_TYPE_ABOUT:
		return about(resource, object, listed), nil
	}
	return ownersOf(object, listed), nil
}

// ownedBy selects the objects that an object owns. A namespaced object owns nothing in other
// namespaces, because Kubernetes looks for an owner in the namespace of the owned object, or among
// cluster-scoped objects.
func ownedBy(object *informerhub.Object, listed informerhub.Resource) informerhub.Related {
	related := informerhub.Related{Owner: strings.Clone(object.UID())}
	if listed.Namespaced {
		related.Namespace = strings.Clone(object.Namespace())
	}
	return related
}

// selectedBy selects the objects that an object's own selector selects.
func selectedBy(resource informerhub.Resource, object *informerhub.Object, listed informerhub.Resource) (informerhub.Related, error) {
	if resource.Namespaced && !listed.Namespaced {
		return informerhub.Related{}, apierror.BadRequest("related.type SELECTED_BY selects objects in the other object's namespace, and %s have none", listed.Name)
	}
	selector, err := ownSelector(resource, object)
	return informerhub.Related{Namespace: strings.Clone(object.Namespace()), LabelSelector: selector}, err
}

// aboutField is the field in which events reference the object that they are about.
var aboutField = map[schema.GroupResource]string{
	{Resource: "events"}:                         "involvedObject",
	{Group: "events.k8s.io", Resource: "events"}: "regarding",
}

// about selects the events about an object. The kubelet uses a node's name as its UID.
func about(resource informerhub.Resource, object *informerhub.Object, listed informerhub.Resource) informerhub.Related {
	field := aboutField[listed.GroupResource()]
	uids := informerhub.FieldValues{Field: field + ".uid", Values: []string{strings.Clone(object.UID())}}
	if resource.GroupResource() != (schema.GroupResource{Resource: "nodes"}) {
		return informerhub.Related{Fields: []informerhub.FieldValues{uids}}
	}
	uids.Values = append(uids.Values, strings.Clone(object.Name()))
	kind := informerhub.FieldValues{Field: field + ".kind", Values: []string{resource.Kind}}
	return informerhub.Related{Fields: []informerhub.FieldValues{uids, kind}}
}

// ownersOf selects the owners of an object that are of the listed kind.
func ownersOf(object *informerhub.Object, listed informerhub.Resource) informerhub.Related {
	owners := []informerhub.ObjectName{}
	for _, owner := range object.Owners() {
		if owner.GroupKind() != listed.GroupVersionKind().GroupKind() || listed.Namespaced && object.Namespace() == "" {
			continue
		}
		name := informerhub.ObjectName{Name: strings.Clone(owner.Name), UID: strings.Clone(owner.UID)}
		if listed.Namespaced {
			name.Namespace = strings.Clone(object.Namespace())
		}
		if !slices.Contains(owners, name) {
			owners = append(owners, name)
		}
	}
	return informerhub.Related{Among: owners}
}
