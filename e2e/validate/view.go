package validate

import (
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// View is the part of an object's content that a watch requests. The zero value is the complete
// content.
//
// This package computes it from the content that was written, without the service's code.
type View struct {
	// paths are the members that the request's fields select; nil selects every member.
	paths [][]string
	// metadataOnly converts the content to a PartialObjectMetadata first.
	metadataOnly bool
}

// viewOf returns the view of a request. It parses only paths of members, such as data.number and
// metadata.labels['a.b/c'].
func viewOf(request *kubeconnectv1.WatchRequest) (View, error) {
	view := View{metadataOnly: request.GetMetadataOnly()}
	for _, field := range request.GetFields() {
		path, err := membersOf(field)
		if err != nil {
			return View{}, err
		}
		view.paths = append(view.paths, path)
	}
	return view, nil
}

// membersOf returns the names of the members in a path.
func membersOf(field string) ([]string, error) {
	var path []string
	rest := field
	for rest != "" {
		if quoted, ok := strings.CutPrefix(rest, "['"); ok {
			name, after, ok := strings.Cut(quoted, "']")
			if !ok {
				return nil, fmt.Errorf("path %q: unterminated quote", field)
			}
			path, rest = append(path, name), strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		if end == 0 {
			return nil, fmt.Errorf("path %q: only members are supported", field)
		}
		path, rest = append(path, rest[:end]), strings.TrimPrefix(rest[end:], ".")
	}
	if path == nil {
		return nil, fmt.Errorf("path %q is empty", field)
	}
	return path, nil
}

// hides reports whether an object can change without a change in the view.
func (v View) hides() bool { return v.paths != nil }

// show returns the part of a content that the view shows. Both are decoded by encoding/json, and
// they share their common values.
func (v View) show(content map[string]any) map[string]any {
	if v.metadataOnly {
		content = map[string]any{
			"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": content["metadata"],
		}
	}
	if v.paths == nil {
		return content
	}
	part := map[string]any{}
	for _, path := range v.paths {
		copyMember(part, content, path)
	}
	return part
}

// copyMember copies the value at a path, with the objects that contain it. It copies nothing if
// there is no such value.
func copyMember(target, from map[string]any, path []string) {
	value, ok := memberOf(from, path...)
	if !ok {
		return
	}
	for _, name := range path[:len(path)-1] {
		inner, ok := target[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			target[name] = inner
		}
		target = inner
	}
	target[path[len(path)-1]] = value
}

// memberOf returns the value at a path, and whether it exists.
func memberOf(from any, path ...string) (any, bool) {
	for _, name := range path {
		members, ok := from.(map[string]any)
		if !ok {
			return nil, false
		}
		if from, ok = members[name]; !ok {
			return nil, false
		}
	}
	return from, true
}

// same reports whether two states of one object are equal in the view.
func (v View) same(a, b *Write) bool {
	return v.hides() && a.UID == b.UID && !a.Deleted && !b.Deleted && reflect.DeepEqual(v.show(a.Content), v.show(b.Content))
}

var changeIsVisible = check{
	guarantee: Unique,
	name:      "a change outside the requested part is not sent",
	broken: func(j *judge) string {
		held := j.model.Objects[KeyOf(j.event.GetObject())]
		if !j.recording.Selection.View.hides() || j.catchUp || held == nil || j.event.GetPatchFormat() != noPatch ||
			j.event.GetType() != kubeconnectv1.EventType_EVENT_TYPE_MODIFIED || held.GetUid() != j.event.GetObject().GetUid() {
			return ""
		}
		if !sameContent(held, j.event.GetObject()) {
			return ""
		}
		return fmt.Sprintf("the client has the same content from version %s", held.GetResourceVersion())
	},
}

// sameContent reports whether two objects have the same content, in any encoding.
func sameContent(a, b *kubeconnectv1.Object) bool {
	was, readable := contentOf(a)
	contentB, alsoReadable := contentOf(b)
	if readable && alsoReadable {
		return reflect.DeepEqual(was, contentB)
	}
	return proto.Equal(&kubeconnectv1.Object{Content: a.GetContent()}, &kubeconnectv1.Object{Content: b.GetContent()})
}
