package permissions_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// The forms in which results are compared, in addition to the objects that are shown.
const (
	answerDenied = "denied"
	answerAbsent = "absent"
	answerFailed = "failed" // followed by the error
)

// permissionQuestion is a request, and the result of the API server for the same caller.
type permissionQuestion struct {
	method, text string
	ask          func(context.Context) string
	want         func(context.Context) []string
}

// permissionAsker makes the requests of one caller in one world.
type permissionAsker struct {
	stage   *permissionStage
	oracle  *permissionOracle
	caller  *permissionCaller
	rnd     *rand.Rand
	last    permissionKind // the last requested kind
	history []string
}

// kind chooses a kind, often the previous one: a cached decision may affect the next request.
func (a *permissionAsker) kind() permissionKind {
	if a.last.Resource == "" || a.rnd.IntN(2) == 0 {
		a.last = pick(a.rnd, a.stage.kinds)
	}
	return a.last
}

// note records the last questions, for the report of a mismatch.
func (a *permissionAsker) note(question, got string) {
	a.history = append(a.history, question+" -> "+got[:min(len(got), 120)])
	a.history = a.history[max(0, len(a.history)-shownHistory):]
}

// question chooses a question.
func (a *permissionAsker) question() permissionQuestion {
	switch chance := a.rnd.IntN(100); {
	case chance < 25:
		return a.checkAccess()
	case chance < 50:
		return a.get()
	case chance < 72:
		return a.list()
	case chance < 80:
		return a.count()
	case chance < 90:
		return a.watch()
	case chance < 95:
		return a.table()
	default:
		return a.stolenPage()
	}
}

// permissionSelection is the selection that several methods share.
type permissionSelection struct {
	kind      permissionKind
	namespace string
	selectors selectedBy
	filter    string // the name to filter by, or empty
	related   *kubeconnectv1.Relation
	owner     permissionKind
	strict    bool // require_all_namespaces
	latest    bool
}

func (s permissionSelection) String() string {
	text := fmt.Sprintf("%s in %q, labels %q, fields %q", s.kind.Resource, s.namespace, s.selectors.label, s.selectors.field)
	if s.filter != "" {
		text += ", filter for " + s.filter
	}
	if s.related != nil {
		text += fmt.Sprintf(", %s %s %s/%s", s.related.Type, s.related.Resource, s.related.Namespace, s.related.Name)
	}
	if s.strict {
		text += ", all namespaces required"
	}
	if s.latest {
		text += ", latest"
	}
	return text
}

func (s permissionSelection) consistency() kubeconnectv1.Consistency {
	if s.latest {
		return kubeconnectv1.Consistency_CONSISTENCY_LATEST
	}
	return kubeconnectv1.Consistency_CONSISTENCY_CACHED
}

func (s permissionSelection) expression() string {
	if s.filter == "" {
		return ""
	}
	return fmt.Sprintf("object.metadata.name == %q", s.filter)
}

// selection chooses a selection. Requests over all namespaces mostly select the label of the
// stage's own objects, because there may be many others.
func (a *permissionAsker) selection() permissionSelection {
	s := permissionSelection{kind: a.kind()}
	if s.kind.namespaced && a.rnd.IntN(2) == 0 {
		s.namespace = pick(a.rnd, a.stage.namespaces)
	}
	s.selectors.label = pick(a.rnd, []string{"", "color=red", "color in (red,green)", "!color", "color!=blue"})
	if s.namespace == "" && s.kind.Resource != "namespaces" && a.rnd.IntN(5) > 0 {
		s.selectors.label = ownLabel + "=" + a.stage.label + strings.TrimPrefix(","+s.selectors.label, ",,")
		s.selectors.label = strings.TrimSuffix(s.selectors.label, ",")
	}
	s.selectors.field = a.fieldSelector(s.kind)
	if a.rnd.IntN(6) == 0 {
		s.filter = pick(a.rnd, s.kind.names)
	}
	s.strict, s.latest = a.rnd.IntN(8) == 0, a.rnd.IntN(5) == 0
	return s
}

func (a *permissionAsker) fieldSelector(kind permissionKind) string {
	name := pick(a.rnd, kind.names)
	selectors := []string{"", "", "metadata.name=" + name, "metadata.name=" + name, "metadata.name!=" + name, "metadata.name=" + name + ",metadata.name=" + pick(a.rnd, kind.names)}
	if kind.namespaced {
		namespace := pick(a.rnd, a.stage.namespaces)
		selectors = append(selectors, "metadata.namespace="+namespace, "metadata.namespace!="+namespace, "metadata.name="+name+",metadata.namespace="+namespace)
	}
	return pick(a.rnd, selectors)
}

// relate restricts a selection to objects related to another object.
func (a *permissionAsker) relate(s *permissionSelection) {
	s.owner = pick(a.rnd, a.stage.kinds)
	s.related = &kubeconnectv1.Relation{
		Type:     pick(a.rnd, []kubeconnectv1.RelationType{kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, kubeconnectv1.RelationType_RELATION_TYPE_OWNER_OF}),
		Resource: nameOf(s.owner), Name: pick(a.rnd, s.owner.names),
	}
	if s.owner.namespaced {
		s.related.Namespace = pick(a.rnd, a.stage.namespaces)
	}
}

// nameOf returns the resource in kubectl's syntax.
func nameOf(kind permissionKind) string {
	return strings.TrimSuffix(kind.Resource+"."+kind.Group, ".")
}

func (a *permissionAsker) checkAccess() permissionQuestion {
	var questions []*kubeconnectv1.AccessQuestion
	var attributes []authorizationv1.ResourceAttributes
	var texts []string
	for range 1 + a.rnd.IntN(3) {
		kind := a.kind()
		one := authorizationv1.ResourceAttributes{
			Verb: pick(a.rnd, append([]string{"create", "delete", "patch"}, slices.Concat(readVerbs, readVerbs)...)), Group: kind.Group, Version: kind.Version, Resource: kind.Resource,
		}
		if kind.namespaced && a.rnd.IntN(2) == 0 {
			one.Namespace = pick(a.rnd, a.stage.namespaces)
		}
		if a.rnd.IntN(3) == 0 {
			one.Name = pick(a.rnd, kind.names)
		}
		questions = append(questions, &kubeconnectv1.AccessQuestion{Verb: one.Verb, Resource: nameOf(kind), Namespace: one.Namespace, Name: one.Name})
		attributes, texts = append(attributes, one), append(texts, strings.TrimSpace(fmt.Sprintf("%s %s %s/%s", one.Verb, one.Resource, one.Namespace, one.Name)))
	}
	return permissionQuestion{
		method: "CheckAccess", text: "CheckAccess " + strings.Join(texts, ", "),
		ask: func(ctx context.Context) string {
			answers, err := a.caller.clients.Access.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{Questions: questions})
			if err != nil {
				return answerOf(err)
			}
			var allowed []bool
			for _, answer := range answers.GetAnswers() {
				allowed = append(allowed, answer.GetAllowed())
			}
			return fmt.Sprint("answers: ", allowed)
		},
		want: func(ctx context.Context) []string {
			return a.wantAnswers(ctx, attributes, nil)
		},
	}
}

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

func (a *permissionAsker) get() permissionQuestion {
	kind := a.kind()
	request := &kubeconnectv1.GetRequest{Resource: nameOf(kind), Name: pick(a.rnd, kind.names), MetadataOnly: a.rnd.IntN(2) == 0}
	if kind.namespaced {
		request.Namespace = pick(a.rnd, a.stage.namespaces)
	}
	if a.rnd.IntN(5) == 0 {
		request.Consistency = kubeconnectv1.Consistency_CONSISTENCY_LATEST
	}
	return permissionQuestion{
		method: "Get", text: fmt.Sprintf("Get %s %s/%s, %s", kind.Resource, request.Namespace, request.Name, request.Consistency),
		ask: func(ctx context.Context) string {
			got, err := a.caller.clients.Resources.Get(ctx, request)
			if err != nil {
				return answerOf(err)
			}
			return shows([]string{objectKey(got.GetObject())}, nil)
		},
		want: func(ctx context.Context) []string {
			return wantOne(a.oracle.get(ctx, a.caller, kind, request.Namespace, request.Name))
		},
	}
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

func (a *permissionAsker) list() permissionQuestion {
	s := a.selection()
	if a.rnd.IntN(4) == 0 {
		a.relate(&s)
	}
	request := &kubeconnectv1.ListRequest{
		Resource: nameOf(s.kind), Namespace: s.namespace, LabelSelector: s.selectors.label, FieldSelector: s.selectors.field, Filter: s.expression(),
		Related: s.related, RequireAllNamespaces: s.strict, Consistency: s.consistency(), MetadataOnly: s.namespace == "" || a.rnd.IntN(2) == 0,
		OrderBy: pick(a.rnd, []string{"", "", "metadata.name desc"}),
	}
	if strings.Contains(s.selectors.label, ownLabel) {
		request.PageSize = int32(a.rnd.IntN(4))
	}
	return permissionQuestion{
		method: "List", text: fmt.Sprintf("List %s, pages of %d", s, request.PageSize),
		ask:  func(ctx context.Context) string { return a.listed(ctx, request) },
		want: func(ctx context.Context) []string { return a.wantSelected(ctx, s, false) },
	}
}

// listed reads all pages.
func (a *permissionAsker) listed(ctx context.Context, request *kubeconnectv1.ListRequest) string {
	var keys, namespaces []string
	for request.PageToken = ""; ; {
		page, err := a.caller.clients.Resources.List(ctx, request)
		if err != nil {
			return answerOf(err)
		}
		keys, namespaces = append(keys, a.ownKeys(page.GetObjects())...), page.GetNamespaces()
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			return shows(keys, namespaces)
		}
	}
}

func (a *permissionAsker) count() permissionQuestion {
	s := a.selection()
	if a.rnd.IntN(4) == 0 {
		a.relate(&s)
	}
	request := &kubeconnectv1.CountRequest{
		Resource: nameOf(s.kind), Namespace: s.namespace, LabelSelector: s.selectors.label, FieldSelector: s.selectors.field, Filter: s.expression(),
		Related: s.related, RequireAllNamespaces: s.strict, Consistency: s.consistency(), GroupBy: []string{"metadata.namespace", "metadata.name", "metadata.uid"}, MaxGroups: 10_000,
	}
	return permissionQuestion{
		method: "Count", text: fmt.Sprintf("Count %s", s),
		ask:  func(ctx context.Context) string { return a.counted(ctx, request) },
		want: func(ctx context.Context) []string { return a.wantSelected(ctx, s, false) },
	}
}

// counted returns the counted objects. The total must be that of the groups.
func (a *permissionAsker) counted(ctx context.Context, request *kubeconnectv1.CountRequest) string {
	count, err := a.caller.clients.Resources.Count(ctx, request)
	if err != nil {
		return answerOf(err)
	}
	var objects []*kubeconnectv1.Object
	total := int64(0)
	for _, group := range count.GetGroups() {
		values := group.GetValues()
		objects = append(objects, &kubeconnectv1.Object{
			Namespace: values[0].GetStringValue(), Name: values[1].GetStringValue(), Uid: values[2].GetStringValue(),
		})
		total += group.GetCount()
	}
	if total != count.GetTotal() && count.GetRemainingGroups() == 0 {
		return fmt.Sprintf("%s: the total is %d, the groups have %d", answerFailed, count.GetTotal(), total)
	}
	return shows(a.ownKeys(objects), count.GetNamespaces())
}

func (a *permissionAsker) watch() permissionQuestion {
	s := a.selection()
	s.latest = false
	if a.rnd.IntN(6) == 0 {
		a.relate(&s)
	}
	request := &kubeconnectv1.WatchRequest{
		Resource: nameOf(s.kind), Namespace: s.namespace, LabelSelector: s.selectors.label, FieldSelector: s.selectors.field, Filter: s.expression(),
		Related: s.related, RequireAllNamespaces: s.strict, MetadataOnly: true,
	}
	if (s.namespace != "" || !s.kind.namespaced) && a.rnd.IntN(3) == 0 {
		request.Name = pick(a.rnd, s.kind.names)
		request.FieldSelector, s.selectors.field = "", "metadata.name="+request.Name
	}
	return permissionQuestion{
		method: "Watch", text: fmt.Sprintf("Watch %s, name %q", s, request.Name),
		ask:  func(ctx context.Context) string { return a.watched(ctx, request) },
		want: func(ctx context.Context) []string { return a.wantSelected(ctx, s, true) },
	}
}

// watched returns the objects of the first snapshot.
func (a *permissionAsker) watched(ctx context.Context, request *kubeconnectv1.WatchRequest) string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := a.caller.clients.Resources.Watch(ctx, request)
	if err != nil {
		return answerOf(err)
	}
	defer stream.Close()
	held, namespaces := map[string]*kubeconnectv1.Object{}, []string(nil)
	for stream.Receive() {
		if stream.Msg().GetResource() != nil {
			namespaces = stream.Msg().GetNamespaces()
		}
		for _, event := range stream.Msg().GetEvents() {
			switch object := event.GetObject(); event.GetType() {
			case kubeconnectv1.EventType_EVENT_TYPE_RESET:
				clear(held)
			case kubeconnectv1.EventType_EVENT_TYPE_ADDED, kubeconnectv1.EventType_EVENT_TYPE_MODIFIED:
				held[object.GetNamespace()+"/"+object.GetName()] = object
			case kubeconnectv1.EventType_EVENT_TYPE_DELETED:
				delete(held, object.GetNamespace()+"/"+object.GetName())
			case kubeconnectv1.EventType_EVENT_TYPE_SYNCED:
				cancel()
				return shows(a.ownKeys(slices.Collect(maps.Values(held))), namespaces)
			}
		}
	}
	return answerOf(stream.Err())
}

func (a *permissionAsker) table() permissionQuestion {
	s := a.selection()
	s.filter, s.strict, s.latest = "", true, true
	request := &kubeconnectv1.GetTableRequest{Resource: nameOf(s.kind), Namespace: s.namespace, LabelSelector: s.selectors.label, FieldSelector: s.selectors.field}
	return permissionQuestion{
		method: "GetTable", text: fmt.Sprintf("GetTable %s", s),
		ask: func(ctx context.Context) string {
			var keys []string
			for request.PageToken = ""; ; {
				page, err := a.caller.clients.Resources.GetTable(ctx, request)
				if err != nil {
					return answerOf(err)
				}
				for _, row := range page.GetRows() {
					keys = append(keys, a.ownKeys([]*kubeconnectv1.Object{{Namespace: row.GetNamespace(), Name: row.GetName(), Uid: row.GetUid()}})...)
				}
				if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
					return shows(keys, nil)
				}
			}
		},
		want: func(ctx context.Context) []string { return a.wantSelected(ctx, s, false) },
	}
}

// stolenPage continues a list that another caller has started: the result must contain only objects
// that the caller has permission to list.
func (a *permissionAsker) stolenPage() permissionQuestion {
	s, other := a.selection(), pick(a.rnd, a.stage.callers)
	s = permissionSelection{kind: s.kind, namespace: s.namespace, selectors: selectedBy{label: s.selectors.label}}
	request := &kubeconnectv1.ListRequest{Resource: nameOf(s.kind), Namespace: s.namespace, LabelSelector: s.selectors.label, PageSize: 1, MetadataOnly: true}
	return permissionQuestion{
		method: "stolen page", text: fmt.Sprintf("List %s, with a page token of %s", s, other.name),
		ask: func(ctx context.Context) string {
			request.PageToken = ""
			page, err := other.clients.Resources.List(ctx, request)
			if err != nil || page.GetNextPageToken() == "" || other == a.caller {
				return answerDenied // there is no token
			}
			request.PageToken = page.GetNextPageToken()
			page, err = a.caller.clients.Resources.List(ctx, request)
			if err == nil {
				return shows(a.ownKeys(page.GetObjects()), nil)
			}
			return answerDenied
		},
		want: func(ctx context.Context) []string {
			return append(eachShown(a.wantSelected(ctx, s, false)), answerDenied)
		},
	}
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
	if answer, ok := a.readable(ctx, s, s.namespace, watch); ok {
		return []string{shows(s.keys(answer, other), nil)}
	}
	if s.namespace != "" || !s.kind.namespaced || s.strict {
		return []string{answerDenied}
	}
	return a.wantRestricted(ctx, s, watch, other)
}

// wantRestricted returns the API server's results for the single namespaces. If another authorizer
// denies what RBAC allows, some of them may be missing: the candidate namespaces are derived from
// RBAC, and a cluster role binding names none.
func (a *permissionAsker) wantRestricted(ctx context.Context, s permissionSelection, watch bool, other *metav1.PartialObjectMetadata) (want []string) {
	readable := map[string]directAnswer{}
	for _, namespace := range a.stage.namespaces {
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
