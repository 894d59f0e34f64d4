package server

import (
	"errors"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// selectionParams are the parsed fields of a request that select objects. They are a value.
type selectionParams struct {
	resource      string // as the caller wrote it; see cluster.resolve
	namespace     string
	labelSelector string
	fieldSelector string
	filter        string // an expression, which is compiled when the caller is authorized; empty for none
	related       *relationParams
	minVersion    string // the version that the read must see; empty for any
	indivisible   bool   // the read must cover all namespaces
	logs          bool   // the logs of the selected pods are read, too
	metadataOnly  bool   // objects are reduced to their metadata
	// readsMetadata reports that nothing but the metadata of objects is used, so that the API server
	// need not send more.
	readsMetadata bool
}

// snapshotParams are the parsed fields of a request with a single response, from one snapshot.
type snapshotParams struct {
	selectionParams
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

// parseSelection parses the fields that all selections have.
func parseSelection(request selectionRequest) (p selectionParams, err error) {
	if err := errors.Join(checkVersion(request.GetMinResourceVersion()), checkSegment("namespace", request.GetNamespace())); err != nil {
		return selectionParams{}, err
	}
	related, err := parseRelation(request.GetRelated())
	return selectionParams{
		resource:      request.GetResource(),
		namespace:     request.GetNamespace(),
		labelSelector: request.GetLabelSelector(),
		fieldSelector: request.GetFieldSelector(),
		filter:        request.GetFilter(),
		related:       related,
		minVersion:    request.GetMinResourceVersion(),
		indivisible:   request.GetRequireAllNamespaces(),
	}, err
}

// accessOf returns a read of the selection with all permissions that the selection needs.
func (p selectionParams) accessOf(access accessRequest) accessRequest {
	access = access.requiring(p.indivisible)
	if p.logs {
		access = access.withLogs()
	}
	return access
}

// ofMetadata returns the same selection of objects that are reduced to their metadata.
func (p selectionParams) ofMetadata() selectionParams {
	p.metadataOnly = true
	p.readsMetadata = p.filter == "" && p.related == nil
	return p
}

// parseSnapshot parses the fields of a request with a single response.
func parseSnapshot(request interface {
	selectionRequest
	GetConsistency() kubeconnectv1.Consistency
}) (p snapshotParams, err error) {
	if err := checkConsistency(request.GetConsistency()); err != nil {
		return snapshotParams{}, err
	}
	p.consistency = request.GetConsistency()
	p.selectionParams, err = parseSelection(request)
	return p, err
}
