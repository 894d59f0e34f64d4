package samples

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

var message = reflect.TypeFor[interface{ Unmarshal([]byte) error }]()

// Kinds returns the kinds of client-go that have a protobuf form, one for each Go type.
func Kinds() (all []schema.GroupVersionKind) {
	seen := make(map[reflect.Type]bool)
	for _, kind := range sortedKinds() {
		t := scheme.Scheme.AllKnownTypes()[kind]
		if reflect.PointerTo(t).Implements(message) && !seen[t] {
			seen[t] = true
			all = append(all, kind)
		}
	}
	return all
}

func sortedKinds() (all []schema.GroupVersionKind) {
	for kind := range scheme.Scheme.AllKnownTypes() {
		all = append(all, kind)
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return all
}
