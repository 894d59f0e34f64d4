package kubeapi

import (
	"net/http"

	"github.com/munnerz/goautoneg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// form is the form of a response. It is comparable: what is encoded in equal forms is equal.
type form struct {
	protobuf bool // JSON otherwise
	partial  bool // PartialObjectMetadata
}

// negotiate returns the form that a client accepts first among those that a resource has; false if the API server must answer:
// for tables, for other forms, and if nothing is acceptable.
func negotiate(r *http.Request, resource informerhub.Resource, isList bool) (form, bool) {
	if pretty := r.URL.Query().Get("pretty"); pretty != "" && isTrue(pretty) {
		return form{}, false
	}
	header := r.Header.Get("Accept")
	if header == "" {
		return form{}, true
	}
	for _, clause := range goautoneg.ParseAccept(header) {
		accepted, isKnown := formOf(clause, resource, isList)
		switch {
		case !isKnown:
			return form{}, false
		case accepted != nil:
			return *accepted, true
		}
	}
	return form{}, false
}

// formOf returns the form of a clause; nil if the API server passes over the clause. It reports false if only the API server knows.
func formOf(clause goautoneg.Accept, resource informerhub.Resource, isList bool) (*form, bool) {
	var of form
	switch media := clause.Type + "/" + clause.SubType; media {
	case runtime.ContentTypeJSON, "*/*":
	case runtime.ContentTypeProtobuf:
		of.protobuf = true
	default:
		return nil, clause.Type != "application" // such as YAML and CBOR
	}
	for name, value := range clause.Params {
		switch name {
		case "as", "g", "v", "q", "charset":
		case "stream":
			if value != "" && value != "watch" {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	if as := clause.Params["as"]; as != "" || clause.Params["g"] != "" || clause.Params["v"] != "" {
		want := object.PartialKind
		if isList {
			want = object.PartialListKind
		}
		if as != want || clause.Params["g"] != metav1.GroupName || clause.Params["v"] != "v1" {
			return nil, false
		}
		of.partial = true
	}
	if of.protobuf && !resource.BuiltIn() && !of.partial {
		return nil, !isTyped(resource) // the API server has no protobuf of custom resources either
	}
	return &of, true
}

// isTyped reports whether the API server has a Go type for the objects of a resource. It has more of them than client-go.
func isTyped(resource informerhub.Resource) bool {
	return resource.BuiltIn() || resource.Group == "apiextensions.k8s.io" || resource.Group == "apiregistration.k8s.io"
}

// contentType returns the media type of a response.
func (f form) contentType(isWatch bool) string {
	switch {
	case f.protobuf && isWatch:
		return runtime.ContentTypeProtobuf + ";stream=watch"
	case f.protobuf:
		return runtime.ContentTypeProtobuf
	}
	return runtime.ContentTypeJSON
}
