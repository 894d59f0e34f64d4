package joins

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

// SubjectOf relates a row, an event, to the object that it is about.
type SubjectOf struct {
	field string
	mask  *mask.Mask
}

// NewSubjectOf returns the relation for events that reference the object in a field.
func NewSubjectOf(field string) (SubjectOf, error) {
	fields, err := mask.Parse([]string{field})
	return SubjectOf{field, fields}, err
}

func (s SubjectOf) begin(_ *Page, related Related) finder {
	return &subjectFinder{SubjectOf: s, related: related}
}

type subjectFinder struct {
	SubjectOf
	related Related
	text    []byte // buffer for the next event
}

// reference is a reference of an event.
type reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

func (f *subjectFinder) find(_ context.Context, row *informerhub.Object) ([]*informerhub.Object, error) {
	subject := f.read(row)
	resource := f.related.Resource
	if subject.Name == "" || !subject.isOf(resource) || resource.Namespaced && subject.Namespace != row.Namespace() {
		return nil, nil
	}
	object := f.related.get(row, subject.Name)
	if object == nil || !subject.hasUID(object) {
		return nil, nil
	}
	return []*informerhub.Object{object}, nil
}

// read returns the reference of an event; empty if it cannot be decoded.
func (f *subjectFinder) read(event *informerhub.Object) reference {
	var err error
	if f.text, err = event.AppendMaskedJSON(f.text[:0], f.mask); err != nil {
		return reference{}
	}
	var read map[string]json.RawMessage
	var subject reference
	if json.Unmarshal(f.text, &read) != nil || json.Unmarshal(read[f.field], &subject) != nil {
		return reference{}
	}
	return subject
}

// isOf reports whether the reference is to an object of a resource. An event may omit the API
// version of the object.
func (r reference) isOf(resource informerhub.Resource) bool {
	kind := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
	return r.Kind == resource.Kind && (r.APIVersion == "" || kind.Group == resource.Group)
}

// hasUID reports whether the reference is to this object, and not to another one that had its name.
// An event may omit the UID. The kubelet uses a node's name as its UID.
func (r reference) hasUID(object *informerhub.Object) bool {
	return r.UID == "" || r.UID == object.UID() || r.Kind == "Node" && r.UID == object.Name()
}
