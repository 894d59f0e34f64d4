// Package costly has requests that make the service keep or compute as much as a field of an RPC
// allows. Tests and measurements of what one caller does to others share them.
//
// Each request has a number. Requests with different numbers are different questions, so that the
// service cannot answer them with one computation. All of them are allowed by the API: they are within
// the bounds that the comments of the fields have, or, where a field has none, within the size of a
// request that the service accepts.
package costly

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// Object is the name of a ConfigMap that the caller of a [Request] can read in its namespace. A change
// of the object is matched by the request's stream.
const Object = "one"

// Request is a costly request of one field.
type Request struct {
	// Name is the RPC and the field, such as "Watch.filter".
	Name string
	// Open opens the request with a number in the caller's namespace. It is nil if Call is not.
	Open func(ctx context.Context, clients harness.Clients, namespace string, number int) (Stream, error)
	// Call makes a call without a stream.
	Call func(ctx context.Context, clients harness.Clients, namespace string, number int) error
}

// Stream is an open stream.
type Stream interface {
	Receive() bool
	Err() error
	Close() error
}

// Limits of the API.
const (
	filterBytes    = 4 << 10
	fieldsBytes    = 4 << 10
	selectorBytes  = 64 << 10
	paths          = 128
	selectedValues = 990
	positions      = 4_096
	requirements   = 100
	checks         = 100
	joins          = 8
)

// parts is the number of watches or counts with the largest filter that fit into a request.
const parts = 15

const resource = "configmaps"

// Filter returns a condition of the largest size whose evaluation is cheap and whose parsed form is
// large. It is true for [Object].
func Filter(number int) string {
	return repeated(fmt.Sprintf("object.metadata.name != 'none-%d'", number), "||object.a==%d", filterBytes/2)
}

// MacroFilter is a [Filter] of macros, which the compiler expands.
func MacroFilter(number int) string {
	return repeated(fmt.Sprintf("object.metadata.name != 'none-%d'", number), "||object.a.exists(x,x==%d)", filterBytes/4)
}

// NestedFilter is a [Filter] of nested macros.
func NestedFilter(number int) string {
	return repeated(fmt.Sprintf("object.metadata.name != 'none-%d'", number), "||object.a.exists(x,x.exists(y,y==%d))", filterBytes/4)
}

// IndexFilter is a [Filter] of indexes, whose types the compiler has to check.
func IndexFilter(number int) string {
	return repeated(fmt.Sprintf("object.metadata.name != 'none-%d'", number), "||object.a[0].b[1].c==%d", filterBytes/4)
}

// LiteralFilter is a [Filter] of literals, which are cheap to compile.
func LiteralFilter(number int) string {
	return repeated(fmt.Sprintf("!(object.metadata.name in ['none-%d'", number), ",'%x'", filterBytes-2) + "])"
}

// LoopFilter is a condition that is short and costs almost as much to evaluate as one object may
// cost. It is true for every object.
func LoopFilter(number int) string {
	return fmt.Sprintf("lists.range(650).all(x, x != %d + 100000)", number)
}

// Fields returns the largest fields with many lists in each.
func Fields(number int) []string {
	path := "." + strings.Repeat("a[*].", 8) + "b"
	fields := []string{"metadata.name", fmt.Sprintf("x%d", number)}
	for size := 0; len(fields) < paths; size += len(path) + 4 {
		if size+len(path)+4 > fieldsBytes-64 {
			return fields
		}
		fields = append(fields, fmt.Sprintf("f%03d%s", len(fields), path))
	}
	return fields
}

// LabelSelector returns a label selector with the largest number of values, each of the largest size.
// It selects objects without the label, as [Object] is.
func LabelSelector(number int) string {
	var values []string
	for i := range selectedValues {
		values = append(values, fmt.Sprintf("%08d-%08d%s", number, i, strings.Repeat("v", 45)))
	}
	return "app notin (" + strings.Join(values, ",") + ")"
}

// FieldSelector returns a field selector of the largest size.
func FieldSelector(number int) string {
	value := strings.Repeat("v", selectorBytes/requirements-40)
	var terms []string
	for i := range requirements - 1 {
		terms = append(terms, fmt.Sprintf("metadata.name!=%08d-%d%s", number, i, value))
	}
	return strings.Join(terms, ",")
}

// Positions returns the largest resume_after.
func Positions(namespace string, number int) (all []*kubeconnectv1.LogPosition) {
	for i := range positions {
		all = append(all, &kubeconnectv1.LogPosition{
			Namespace: namespace, Pod: fmt.Sprintf("pod-%08d-%08d", number, i), Container: "main", Time: timestamppb.New(time.Unix(int64(i), 0)),
		})
	}
	return all
}

// Joins returns as many joins as a page may have. Each has the largest filter.
func Joins(number int) (all []*kubeconnectv1.Join) {
	for i := range joins {
		all = append(all, &kubeconnectv1.Join{
			Name: fmt.Sprint("j", i), Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY, Resource: resource, Path: "metadata.name",
			Filter: LiteralFilter(number*joins + i), Fields: []string{"metadata.name"}, Limit: 100,
		})
	}
	return all
}

// groupBy returns paths of groups that differ by number, as long as they may be together.
func groupBy(number int) []string {
	all := []string{"metadata.name"}
	for i := range 7 {
		all = append(all, fmt.Sprintf("data.g%d-%s", number*7+i, strings.Repeat("x", 500)))
	}
	return all
}

// repeated returns a condition with a term repeated up to a size.
func repeated(first, term string, bytes int) string {
	var text strings.Builder
	text.WriteString(first)
	for i := 0; ; i++ {
		next := fmt.Sprintf(term, i)
		if text.Len()+len(next) > bytes {
			return text.String()
		}
		text.WriteString(next)
	}
}

// Streams returns the costly requests of each field of the RPCs with a stream.
func Streams() []Request {
	watch := func(name string, set func(r *kubeconnectv1.WatchRequest, number int)) Request {
		return Request{Name: "Watch." + name, Open: func(ctx context.Context, clients harness.Clients, namespace string, number int) (Stream, error) {
			request := &kubeconnectv1.WatchRequest{Resource: resource, Namespace: namespace}
			set(request, number)
			return responses.Of(clients.Resources.Watch(ctx, request))
		}}
	}
	counts := func(name string, set func(r *kubeconnectv1.WatchCountsRequest, number int)) Request {
		return Request{Name: "WatchCounts." + name, Open: func(ctx context.Context, clients harness.Clients, namespace string, number int) (Stream, error) {
			request := &kubeconnectv1.WatchCountsRequest{Resource: resource, Namespace: namespace}
			set(request, number)
			return responses.Of(clients.Resources.WatchCounts(ctx, request))
		}}
	}
	logs := func(name string, set func(r *kubeconnectv1.GetLogLinesRequest, namespace string, number int)) Request {
		return Request{Name: "GetLogLines." + name, Open: func(ctx context.Context, clients harness.Clients, namespace string, number int) (Stream, error) {
			request := &kubeconnectv1.GetLogLinesRequest{Namespace: namespace, Follow: true, LabelSelector: "app=none"}
			set(request, namespace, number)
			return responses.Of(clients.Pods.GetLogLines(ctx, request))
		}}
	}
	many := func(name string, set func(r *kubeconnectv1.WatchManyRequest, namespace string, number int)) Request {
		return Request{Name: "WatchMany." + name, Open: func(ctx context.Context, clients harness.Clients, namespace string, number int) (Stream, error) {
			request := &kubeconnectv1.WatchManyRequest{Independent: true}
			set(request, namespace, number)
			return responses.Of(clients.Resources.WatchMany(ctx, request))
		}}
	}
	return []Request{
		watch("resource", func(*kubeconnectv1.WatchRequest, int) {}),
		watch("filter", func(r *kubeconnectv1.WatchRequest, n int) { r.Filter = Filter(n) }),
		watch("filter (macros)", func(r *kubeconnectv1.WatchRequest, n int) { r.Filter = MacroFilter(n) }),
		watch("filter (nested macros)", func(r *kubeconnectv1.WatchRequest, n int) { r.Filter = NestedFilter(n) }),
		watch("filter (indexes)", func(r *kubeconnectv1.WatchRequest, n int) { r.Filter = IndexFilter(n) }),
		watch("filter (literals)", func(r *kubeconnectv1.WatchRequest, n int) { r.Filter = LiteralFilter(n) }),
		watch("filter (loop)", func(r *kubeconnectv1.WatchRequest, n int) { r.Filter = LoopFilter(n) }),
		watch("fields", func(r *kubeconnectv1.WatchRequest, n int) { r.Fields = Fields(n) }),
		watch("label_selector", func(r *kubeconnectv1.WatchRequest, n int) { r.LabelSelector = LabelSelector(n) }),
		watch("field_selector", func(r *kubeconnectv1.WatchRequest, n int) { r.FieldSelector = FieldSelector(n) }),
		watch("name", func(r *kubeconnectv1.WatchRequest, n int) { r.Name = fmt.Sprint(strings.Repeat("n", 1_000), n) }),
		watch("related", func(r *kubeconnectv1.WatchRequest, n int) {
			r.Related = &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: resource, Namespace: r.Namespace, Name: Object}
			r.LabelSelector = fmt.Sprint("app!=", n)
		}),
		watch("patch_format", func(r *kubeconnectv1.WatchRequest, n int) {
			r.Encoding, r.PatchFormat = kubeconnectv1.Encoding_ENCODING_JSON, kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON
			r.LabelSelector = fmt.Sprint("app!=", n)
		}),
		watch("limit", func(r *kubeconnectv1.WatchRequest, n int) {
			r.Limit, r.LabelSelector = 500, fmt.Sprint("app!=", n)
		}),
		watch("order_by", func(r *kubeconnectv1.WatchRequest, n int) {
			r.Limit, r.OrderBy = 500, strings.Join(groupBy(n), ",")
		}),
		watch("order_by (filter)", func(r *kubeconnectv1.WatchRequest, n int) {
			r.Limit, r.OrderBy, r.Filter = 500, strings.Join(groupBy(n), ","), LiteralFilter(n)
		}),
		watch("joins", func(r *kubeconnectv1.WatchRequest, n int) { r.Limit, r.Joins = 500, Joins(n) }),
		many("watches", func(r *kubeconnectv1.WatchManyRequest, namespace string, n int) {
			for i := range parts {
				r.Watches = append(r.Watches, &kubeconnectv1.WatchSpec{Resource: resource, Namespace: namespace, Filter: LiteralFilter(n*parts + i)})
			}
		}),
		many("counts", func(r *kubeconnectv1.WatchManyRequest, namespace string, n int) {
			for i := range parts {
				r.Counts = append(r.Counts, &kubeconnectv1.WatchCountsRequest{Resource: resource, Namespace: namespace, Filter: LiteralFilter(n*parts + i)})
			}
		}),
		counts("filter", func(r *kubeconnectv1.WatchCountsRequest, n int) { r.Filter = LiteralFilter(n) }),
		counts("label_selector", func(r *kubeconnectv1.WatchCountsRequest, n int) { r.LabelSelector = LabelSelector(n) }),
		counts("group_by", func(r *kubeconnectv1.WatchCountsRequest, n int) { r.GroupBy = groupBy(n) }),
		counts("aggregates", func(r *kubeconnectv1.WatchCountsRequest, n int) {
			for _, path := range groupBy(n) {
				r.Aggregates = append(r.Aggregates, &kubeconnectv1.Aggregate{Function: kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_MAX, Path: path})
			}
		}),
		logs("label_selector", func(r *kubeconnectv1.GetLogLinesRequest, _ string, n int) { r.LabelSelector = LabelSelector(n) }),
		logs("filter", func(r *kubeconnectv1.GetLogLinesRequest, _ string, n int) { r.Filter = LiteralFilter(n) }),
		logs("resume_after", func(r *kubeconnectv1.GetLogLinesRequest, namespace string, n int) {
			r.ResumeAfter = Positions(namespace, n)
		}),
		logs("container", func(r *kubeconnectv1.GetLogLinesRequest, _ string, n int) {
			r.Container, r.ExcludeContainer = regex(n), regex(-n)
		}),
		logs("line_filter", func(r *kubeconnectv1.GetLogLinesRequest, _ string, n int) {
			r.LineFilter = &kubeconnectv1.LogLineFilter{Regex: regex(n), BeforeLines: 100, AfterLines: 100}
		}),
	}
}

// regex returns an expression with almost the largest number of instructions, and of ranges of characters.
func regex(number int) string { return fmt.Sprintf(`n%d(a{90}b{90}){4}\pL{45}`, number) }

// Calls returns the costly requests of each field of the RPCs without a stream.
func Calls() []Request {
	list := func(name string, set func(r *kubeconnectv1.ListRequest, number int)) Request {
		return Request{Name: "List." + name, Call: func(ctx context.Context, clients harness.Clients, namespace string, number int) error {
			request := &kubeconnectv1.ListRequest{Resource: resource, Namespace: namespace}
			set(request, number)
			_, err := clients.Resources.List(ctx, request)
			return err
		}}
	}
	count := func(name string, set func(r *kubeconnectv1.CountRequest, number int)) Request {
		return Request{Name: "Count." + name, Call: func(ctx context.Context, clients harness.Clients, namespace string, number int) error {
			request := &kubeconnectv1.CountRequest{Resource: resource, Namespace: namespace}
			set(request, number)
			_, err := clients.Resources.Count(ctx, request)
			return err
		}}
	}
	return []Request{
		list("resource", func(*kubeconnectv1.ListRequest, int) {}),
		list("filter", func(r *kubeconnectv1.ListRequest, n int) { r.Filter = Filter(n) }),
		list("filter (macros)", func(r *kubeconnectv1.ListRequest, n int) { r.Filter = MacroFilter(n) }),
		list("filter (nested macros)", func(r *kubeconnectv1.ListRequest, n int) { r.Filter = NestedFilter(n) }),
		list("filter (indexes)", func(r *kubeconnectv1.ListRequest, n int) { r.Filter = IndexFilter(n) }),
		list("fields", func(r *kubeconnectv1.ListRequest, n int) { r.Fields = Fields(n) }),
		list("label_selector", func(r *kubeconnectv1.ListRequest, n int) { r.LabelSelector = LabelSelector(n) }),
		list("field_selector", func(r *kubeconnectv1.ListRequest, n int) { r.FieldSelector = FieldSelector(n) }),
		list("order_by", func(r *kubeconnectv1.ListRequest, n int) { r.OrderBy = strings.Join(groupBy(n), ",") }),
		list("joins", func(r *kubeconnectv1.ListRequest, n int) { r.Joins = Joins(n) }),
		list("page_token", func(r *kubeconnectv1.ListRequest, n int) { r.PageToken = fmt.Sprint(strings.Repeat("A", 60_000), n) }),
		count("group_by", func(r *kubeconnectv1.CountRequest, n int) { r.GroupBy = groupBy(n) }),
		count("aggregates", func(r *kubeconnectv1.CountRequest, n int) {
			for _, path := range groupBy(n) {
				r.Aggregates = append(r.Aggregates, &kubeconnectv1.Aggregate{Function: kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_MAX, Path: path})
			}
		}),
		{Name: "Get.fields", Call: func(ctx context.Context, clients harness.Clients, namespace string, number int) error {
			_, err := clients.Resources.Get(ctx, &kubeconnectv1.GetRequest{Resource: resource, Namespace: namespace, Name: Object, Fields: Fields(number)})
			return err
		}},
		{Name: "GetTable.label_selector", Call: func(ctx context.Context, clients harness.Clients, namespace string, number int) error {
			_, err := clients.Resources.GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: resource, Namespace: namespace, LabelSelector: LabelSelector(number)})
			return err
		}},
		{Name: "CheckAccess.checks", Call: func(ctx context.Context, clients harness.Clients, namespace string, number int) error {
			request := &kubeconnectv1.CheckAccessRequest{}
			for i := range checks {
				request.Checks = append(request.Checks, &kubeconnectv1.AccessCheck{Verb: "get", Resource: resource, Namespace: namespace, Name: fmt.Sprint("none-", number*checks+i)})
			}
			_, err := clients.Access.CheckAccess(ctx, request)
			return err
		}},
		{Name: "GetSchema.resource", Call: func(ctx context.Context, clients harness.Clients, _ string, _ int) error {
			_, err := clients.Discovery.GetSchema(ctx, &kubeconnectv1.GetSchemaRequest{Resource: "pods"})
			return err
		}},
		{Name: "ListResourceTypes", Call: func(ctx context.Context, clients harness.Clients, _ string, _ int) error {
			_, err := clients.Discovery.ListResourceTypes(ctx, &kubeconnectv1.ListResourceTypesRequest{})
			return err
		}},
	}
}
