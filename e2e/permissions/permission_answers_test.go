package permissions_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect/v2"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// wantAnswers returns the possible decisions of the API server. A request for one Namespace is a
// request in that namespace, so a question about its name may be asked in either way.
func (a *permissionAsker) wantAnswers(ctx context.Context, attributes []authorizationv1.ResourceAttributes, before []bool) []string {
	if len(before) == len(attributes) {
		return []string{fmt.Sprint("answers: ", before)}
	}
	one := attributes[len(before)]
	allowed := a.oracle.allows(ctx, a.caller, one)
	want := a.wantAnswers(ctx, attributes, append(slices.Clone(before), allowed))
	if one.Resource == "namespaces" && one.Name != "" {
		one.Namespace = one.Name
		if within := a.oracle.allows(ctx, a.caller, one); within != allowed {
			want = append(want, a.wantAnswers(ctx, attributes, append(slices.Clone(before), within))...)
		}
	}
	return want
}

func wantOne(answer directAnswer) []string {
	switch answer.status {
	case http.StatusOK:
		return []string{shows(metadataKeys(answer.objects), nil)}
	case http.StatusNotFound:
		return []string{answerAbsent}
	}
	return []string{answerDenied}
}

// eachShown returns the results of pages of one object: for each object in some results, and for an
// object outside the stage.
func eachShown(answers []string) []string {
	pages := []string{shows(nil, nil)}
	for _, answer := range answers {
		if keys, ok := strings.CutPrefix(answer, shows(nil, nil)); ok {
			keys, _, _ = strings.Cut(keys, "; of ")
			for key := range strings.SplitSeq(keys, ", ") {
				pages = append(pages, shows([]string{key}, nil))
			}
		}
	}
	return pages
}

// wantSelected returns the API server's results for a selection. If it denies a list over all
// namespaces, the results are those of the single namespaces.
func (a *permissionAsker) wantSelected(ctx context.Context, s permissionSelection, watch bool) []string {
	var other *metav1.PartialObjectMetadata
	var refused []string
	if s.related != nil {
		if answer := a.oracle.get(ctx, a.caller, s.owner, s.related.Namespace, s.related.Name); answer.allowed() {
			other = &answer.objects[0]
		} else {
			refused = wantOne(answer)
		}
	}
	shown := a.wantShown(ctx, s, watch, other)
	switch {
	case refused == nil:
		return shown
	case slices.Contains(shown, answerDenied):
		return append(refused, answerDenied) // either check may be the first to fail
	}
	return refused
}

func (a *permissionAsker) wantShown(ctx context.Context, s permissionSelection, watch bool, other *metav1.PartialObjectMetadata) []string {
	if a.stage.cached != nil && s.kind.namespaced && s.namespace == "" && !s.latest {
		if s.strict {
			return []string{answerDenied}
		}
		return a.wantRestricted(ctx, s, watch, other, a.stage.cached)
	}
	if answer, ok := a.readable(ctx, s, s.namespace, watch); ok {
		return []string{shows(s.keys(answer, other), nil)}
	}
	if s.namespace != "" || !s.kind.namespaced || s.strict {
		return []string{answerDenied}
	}
	return a.wantRestricted(ctx, s, watch, other, a.stage.namespaces)
}

// wantRestricted returns the API server's results for single namespaces. If another authorizer
// denies what RBAC allows, some of them may be missing: the candidate namespaces are derived from
// RBAC, and a cluster role binding names none.
func (a *permissionAsker) wantRestricted(ctx context.Context, s permissionSelection, watch bool, other *metav1.PartialObjectMetadata, namespaces []string) (want []string) {
	readable := map[string]directAnswer{}
	for _, namespace := range namespaces {
		if answer, ok := a.readable(ctx, s, namespace, watch); ok {
			readable[namespace] = answer
		}
	}
	all := slices.Sorted(maps.Keys(readable))
	want = []string{s.showsOf(all, readable, other)}
	if a.stage.webhook != nil {
		for set := range 1 << len(all) {
			some := slices.DeleteFunc(slices.Clone(all), func(namespace string) bool { return set&(1<<slices.Index(all, namespace)) == 0 })
			want = append(want, s.showsOf(some, readable, other))
		}
	}
	return want
}

// showsOf returns a result that covers some namespaces.
func (s permissionSelection) showsOf(namespaces []string, readable map[string]directAnswer, other *metav1.PartialObjectMetadata) string {
	if len(namespaces) == 0 {
		return answerDenied
	}
	var keys []string
	for _, namespace := range namespaces {
		keys = append(keys, s.keys(readable[namespace], other)...)
	}
	return shows(keys, namespaces)
}

// readable reads a namespace, or all of them, and reports whether the API server allows it. A watch
// of one name requires the permission to watch it, as at the API server, and any other watch also
// requires the permission to list.
func (a *permissionAsker) readable(ctx context.Context, s permissionSelection, namespace string, watch bool) (directAnswer, bool) {
	if watch && !a.oracle.watch(ctx, a.caller, s.kind, namespace, s.selectors).allowed() {
		return directAnswer{}, false
	}
	if watch && strings.Contains(s.selectors.field, "metadata.name=") {
		return a.oracle.list(ctx, a.stage.admin, s.kind, namespace, s.selectors), true
	}
	answer := a.oracle.list(ctx, a.caller, s.kind, namespace, s.selectors)
	return answer, answer.allowed()
}

// keys returns the keys of the objects that match the conditions that the API server cannot select
// by.
func (s permissionSelection) keys(answer directAnswer, other *metav1.PartialObjectMetadata) []string {
	var kept []metav1.PartialObjectMetadata
	for _, object := range answer.objects {
		if s.filter != "" && object.Name != s.filter || s.related != nil && !s.isRelated(&object, other) {
			continue
		}
		kept = append(kept, object)
	}
	return metadataKeys(kept)
}

func (s permissionSelection) isRelated(object, other *metav1.PartialObjectMetadata) bool {
	if other == nil {
		return false
	}
	if s.related.Type == kubeconnectv1.RelationType_RELATION_TYPE_OWNER_OF {
		return isOwnedBy(other, object.UID)
	}
	return isOwnedBy(object, other.UID)
}

func isOwnedBy(object *metav1.PartialObjectMetadata, uid types.UID) bool {
	return slices.ContainsFunc(object.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == uid })
}

func (a *permissionAsker) ownKeys(objects []*kubeconnectv1.Object) (keys []string) {
	for _, object := range objects {
		if a.stage.isOwnKey(object.GetNamespace(), object.GetName()) {
			keys = append(keys, objectKey(object))
		}
	}
	return keys
}

func objectKey(object *kubeconnectv1.Object) string {
	return object.GetNamespace() + "/" + object.GetName() + " " + object.GetUid()
}

func metadataKeys(objects []metav1.PartialObjectMetadata) (keys []string) {
	for _, object := range objects {
		keys = append(keys, object.Namespace+"/"+object.Name+" "+string(object.UID))
	}
	return keys
}

// shows returns a result with objects, restricted to some namespaces if any are given.
func shows(keys, namespaces []string) string {
	slices.Sort(keys)
	text := "shows: " + strings.Join(keys, ", ")
	if len(namespaces) > 0 {
		text += fmt.Sprint("; of ", slices.Sorted(slices.Values(namespaces)))
	}
	return text
}

func answerOf(err error) string {
	switch connect.CodeOf(err) {
	case connect.CodePermissionDenied:
		return answerDenied
	case connect.CodeNotFound:
		return answerAbsent
	}
	return fmt.Sprintf("%s: %v", answerFailed, err)
}

// isOwn reports whether only the stage creates and changes an object.
func (s *permissionStage) isOwn(object *metav1.PartialObjectMetadata) bool {
	return s.isOwnKey(object.Namespace, object.Name)
}

func (s *permissionStage) isOwnKey(namespace, name string) bool {
	if namespace != "" {
		return slices.Contains(s.namespaces, namespace)
	}
	return slices.Contains(s.namespaces, name) || strings.HasPrefix(name, s.label+"-")
}
