package server

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
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// Relations resolves the relations of requests, as far as the caller can read the other objects. Its methods are
// safe for concurrent use.
type Relations struct {
	hub         *informerhub.Hub
	targets     *cluster
	permissions rights
	objects     *Objects
}

// relation is a request's relation, resolved to the other object. The zero value is no relation.
type relation struct {
	requested     *relationParams      // nil for no relation
	related       informerhub.Related  // the resolved relation
	owner         *informerhub.Object  // the owner of a transitive relation; nil for others
	otherResource informerhub.Resource // the resource of the other object
	// since is the version that the caches of owners in between must have reached; empty for their
	// current state.
	since string
}

// texts returns the relation as it was requested, and the condition that it was resolved to, for
// tokens.relatedBy; empty for no relation.
func (r relation) texts() (requested, found string) {
	if r.requested == nil {
		return "", ""
	}
	return fmt.Sprintf("%v %t %s %q %q %q", r.requested.relation, r.requested.transitive, r.otherResource.GroupResource(), r.requested.namespace, r.requested.name, r.requested.uid),
		fmt.Sprintf("{%q %q %q %q %q}", r.related.Namespace, r.related.Owner, r.related.LabelSelector, r.related.Fields, r.related.Among)
}

// relationParams are the parsed fields of a relation: its type, and the other object.
type relationParams struct {
	relation   kubeconnectv1.RelationType
	transitive bool
	resource   string
	namespace  string
	name       string
	uid        string
}

// parseRelation returns nil if the request has no relation.
func parseRelation(requested *kubeconnectv1.Relation) (*relationParams, error) {
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
	return &relationParams{
		relation: requested.GetType(), transitive: requested.GetTransitive(),
		resource: requested.GetResource(), namespace: requested.GetNamespace(), name: requested.GetName(), uid: requested.GetUid(),
	}, nil
}

// resolve resolves a relation, for objects of a resource. The caller must have the permission to get
// the other object. Without it, the error is the same whether the object exists or not.
func (r *Relations) resolve(ctx context.Context, requested *relationParams, listed informerhub.Resource, consistency kubeconnectv1.Consistency) (relation, error) {
	if requested == nil {
		return relation{}, nil
	}
	if requested.relation == kubeconnectv1.RelationType_RELATION_TYPE_ABOUT && aboutField[listed.GroupResource()] == "" {
		return relation{}, apierror.BadRequest("related.type ABOUT selects events: %s are not events", listed.Name)
	}
	resource, object, err := r.otherObject(ctx, *requested, consistency)
	if err != nil {
		return relation{}, err
	}
	found := relation{requested: requested, otherResource: resource}
	found.related, err = inSlotIf(ctx, object.RetainedSize() > shortBytes, func(context.Context) (informerhub.Related, error) {
		return relatedTo(requested.relation, resource, object, listed)
	})
	if err == nil {
		err = ledger.Hold(ctx, relatedBytes(found.related))
	}
	if requested.transitive {
		found.owner, found.related.Owner = object, ""
	}
	return found, err
}

// relatedBytes estimates the memory of a condition, which depends on the other object: its selector, or its owners.
func relatedBytes(related informerhub.Related) int {
	return edge.ParsedBytes(related.LabelSelector) + len(related.Among)*relatedOwnerBytes
}

// relatedOwnerBytes estimates the memory of an owner in a condition.
const relatedOwnerBytes = 512

// otherObject returns the object that a relation names, like Get.
func (r *Relations) otherObject(ctx context.Context, requested relationParams, consistency kubeconnectv1.Consistency) (informerhub.Resource, *informerhub.Object, error) {
	var resource informerhub.Resource
	got, err := onResource(ctx, r.targets, requested.resource, func(named informerhub.Resource) (getResult, error) {
		resource = named
		if err := checkName(resource, requested.namespace, requested.name); err != nil {
			return getResult{}, relatedError(err)
		}
		return r.objects.Read(ctx, resource, getParams{namespace: requested.namespace, name: requested.name, consistency: consistency})
	})
	if err == nil && requested.uid != "" && requested.uid != got.object.UID() {
		err = apierrors.NewNotFound(resource.GroupResource(), requested.name)
	}
	return resource, got.object, err
}

// relatedError returns an error about the other object.
func relatedError(err error) error {
	var scope *scopeError
	badRequest := apierror.BadRequest("related: %v", err)
	if errors.As(err, &scope) {
		return &scopeError{badRequest}
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
