package permissions_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
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
	case chance < 18:
		return a.checkAccess()
	case chance < 40:
		return a.get()
	case chance < 58:
		return a.list()
	case chance < 65:
		return a.count()
	case chance < 75:
		return a.watch()
	case chance < 80:
		return a.table()
	case chance < 85:
		return a.stolenPage()
	default:
		return a.kubernetes()
	}
}

// kubernetes makes a read of Kubernetes' own API at the service: the path is that at the API server.
func (a *permissionAsker) kubernetes() permissionQuestion {
	s, version := a.selection(), pick(a.rnd, []string{"", "0"})
	name := pick(a.rnd, s.kind.names)
	path := pathOf(s.kind, s.namespace, "")
	query := s.selectors.query(false)
	switch {
	case a.rnd.IntN(3) == 0 && s.kind.namespaced == (s.namespace != ""):
		path = pathOf(s.kind, s.namespace, name) + "?resourceVersion=" + version
		return permissionQuestion{
			method: "GET", text: "GET " + path,
			ask: func(ctx context.Context) string { return a.shown(a.caller.kubernetes.get(ctx, path)) },
			want: func(ctx context.Context) []string {
				return wantOne(a.oracle.get(ctx, a.caller, s.kind, s.namespace, name))
			},
		}
	case a.rnd.IntN(2) == 0:
		path += query + "&resourceVersion=" + version
		return permissionQuestion{
			method: "LIST", text: "LIST " + path,
			ask: func(ctx context.Context) string { return a.shown(a.caller.kubernetes.list(ctx, path)) },
			want: func(ctx context.Context) []string {
				return wantOne(a.oracle.list(ctx, a.caller, s.kind, s.namespace, s.selectors))
			},
		}
	}
	path += query + "&watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&resourceVersion=" + version
	return permissionQuestion{
		method: "WATCH", text: "WATCH " + path,
		ask: func(ctx context.Context) string { return a.shown(a.caller.kubernetes.initial(ctx, path)) },
		want: func(ctx context.Context) []string {
			if answer := a.oracle.watch(ctx, a.caller, s.kind, s.namespace, s.selectors); !answer.allowed() {
				return wantOne(answer)
			}
			return wantOne(a.oracle.list(ctx, a.stage.admin, s.kind, s.namespace, s.selectors)) // a watch needs no permission to list
		},
	}
}

// shown returns the result of a read of Kubernetes' own API.
func (a *permissionAsker) shown(answer directAnswer, err error) string {
	if err != nil {
		return fmt.Sprintf("%s: %v", answerFailed, err)
	}
	answer.objects = slices.DeleteFunc(answer.objects, func(object metav1.PartialObjectMetadata) bool { return !a.stage.isOwn(&object) })
	return wantOne(answer)[0]
}

func (a *permissionAsker) checkAccess() permissionQuestion {
	var questions []*kubeconnectv1.AccessCheck
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
		questions = append(questions, &kubeconnectv1.AccessCheck{Verb: one.Verb, Resource: nameOf(kind), Namespace: one.Namespace, Name: one.Name})
		attributes, texts = append(attributes, one), append(texts, strings.TrimSpace(fmt.Sprintf("%s %s %s/%s", one.Verb, one.Resource, one.Namespace, one.Name)))
	}
	return permissionQuestion{
		method: "CheckAccess", text: "CheckAccess " + strings.Join(texts, ", "),
		ask: func(ctx context.Context) string {
			answers, err := a.caller.clients.Access.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{Checks: questions})
			if err != nil {
				return answerOf(err)
			}
			var allowed []bool
			for _, answer := range answers.GetDecisions() {
				allowed = append(allowed, answer.GetAllowed())
			}
			return fmt.Sprint("answers: ", allowed)
		},
		want: func(ctx context.Context) []string {
			return a.wantAnswers(ctx, attributes, nil)
		},
	}
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
	if total != count.GetTotalCount() && count.GetRemainingGroupCount() == 0 {
		return fmt.Sprintf("%s: the total is %d, the groups have %d", answerFailed, count.GetTotalCount(), total)
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
	stream, err := responses.Of(a.caller.clients.Resources.Watch(ctx, request))
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
