package reads

import (
	"errors"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// Selection are the parsed fields of a request that select objects. They are a value.
type Selection struct {
	Resource      string // as the caller wrote it; see target.Resolver
	Namespace     string
	labelSelector string
	FieldSelector string
	filter        string // an expression, which is compiled when the caller is authorized; empty for none
	Related       *RelationParams
	MinVersion    string // the version that the read must see; empty for any
	Indivisible   bool   // the read must cover all namespaces
	Logs          bool   // the logs of the selected pods are read, too
	MetadataOnly  bool   // objects are reduced to their metadata
	// ReadsMetadata reports that nothing but the metadata of objects is used, so that the API server
	// need not send more.
	ReadsMetadata bool
}

// SnapshotParams are the parsed fields of a request with a single response, from one snapshot.
type SnapshotParams struct {
	Selection
	consistency kubeconnectv1.Consistency
}

// selectionRequest is a request for the objects that match a selection.
type selectionRequest interface {
	GetResource() string
	GetNamespace() string
	GetLabelSelector() string
	GetFieldSelector() string
	GetFilter() string
	GetRelated() *kubeconnectv1.Relation
	GetMinResourceVersion() string
	GetRequireAllNamespaces() bool
}

// ParseSelection parses the fields that all selections have. It checks what needs no resource and little work. Selectors
// are validated, and the filter is compiled, when the caller is authorized.
func ParseSelection(request selectionRequest) (p Selection, err error) {
	if err := errors.Join(target.CheckVersion(request.GetMinResourceVersion()), target.CheckSegment("namespace", request.GetNamespace())); err != nil {
		return Selection{}, err
	}
	related, err := ParseRelation(request.GetRelated())
	return Selection{
		Resource:      request.GetResource(),
		Namespace:     request.GetNamespace(),
		labelSelector: request.GetLabelSelector(),
		FieldSelector: request.GetFieldSelector(),
		filter:        request.GetFilter(),
		Related:       related,
		MinVersion:    request.GetMinResourceVersion(),
		Indivisible:   request.GetRequireAllNamespaces(),
	}, err
}

// AccessOf returns a read of the selection with all permissions that the selection needs.
func (p Selection) AccessOf(access access.Request) access.Request {
	access = access.Requiring(p.Indivisible)
	access.Selection = call.Selection{Labels: p.labelSelector, Fields: p.FieldSelector, Filter: p.filter}
	if p.Logs {
		access = access.WithLogs()
	}
	return access
}

// OfMetadata returns the same selection of objects that are reduced to their metadata.
func (p Selection) OfMetadata() Selection {
	p.MetadataOnly = true
	p.ReadsMetadata = p.filter == "" && p.Related == nil
	return p
}

// parseSnapshot parses the fields of a request with a single response.
func parseSnapshot(request interface {
	selectionRequest
	GetConsistency() kubeconnectv1.Consistency
}) (p SnapshotParams, err error) {
	if err := target.CheckConsistency(request.GetConsistency()); err != nil {
		return SnapshotParams{}, err
	}
	p.consistency = request.GetConsistency()
	p.Selection, err = ParseSelection(request)
	return p, err
}
