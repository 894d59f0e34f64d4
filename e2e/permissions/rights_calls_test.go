package permissions_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

func (m *matrix) whoAmI(clients harness.Clients) answer {
	return func(ctx context.Context) (string, error) {
		identity, err := clients.Access.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{})
		_, name, _ := strings.Cut(identity.GetUsername(), m.a+":")
		return name, err
	}
}

func (m *matrix) checkAccess(clients harness.Clients, question *kubeconnectv1.AccessCheck) answer {
	return func(ctx context.Context) (string, error) {
		answers, err := clients.Access.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{Checks: []*kubeconnectv1.AccessCheck{question}})
		if err == nil && answers.GetDecisions()[0].GetAllowed() {
			return "yes", nil
		}
		return "no", err
	}
}

// kit.ListTypes shows whether the response has the number of ConfigMaps.
func (m *matrix) listTypes(clients harness.Clients) answer {
	return func(ctx context.Context) (string, error) {
		list, err := clients.Discovery.ListResourceTypes(ctx, &kubeconnectv1.ListResourceTypesRequest{Group: "core"})
		switch resourceType := kit.TypeOf(list, "configmaps"); {
		case resourceType == nil:
			return "", err
		case resourceType.GetCache() == nil:
			return "not counted", err
		}
		return "counted", err
	}
}

func (m *matrix) getSchema(clients harness.Clients) answer {
	return func(ctx context.Context) (string, error) {
		schema, err := clients.Discovery.GetSchema(ctx, &kubeconnectv1.GetSchemaRequest{Resource: "configmaps"})
		if len(schema.GetSchema().GetFields()) == 0 {
			return "", err
		}
		return schema.GetResource().GetKind(), err
	}
}

func (m *matrix) get(clients harness.Clients, resource, namespace, name string) answer {
	return func(ctx context.Context) (string, error) {
		got, err := clients.Resources.Get(ctx, &kubeconnectv1.GetRequest{Resource: resource, Namespace: namespace, Name: name})
		return m.names(got.GetObject()), err
	}
}

func (m *matrix) getLogs(clients harness.Clients, namespace, name string) answer {
	return func(ctx context.Context) (string, error) {
		return kit.ReadLog(ctx, clients.Pods, &kubeconnectv1.GetLogsRequest{Namespace: namespace, Name: name})
	}
}

// getLogLines shows the lines in the order of their text.
func (m *matrix) getLogLines(clients harness.Clients, request *kit.LinesRequest) answer {
	return func(ctx context.Context) (string, error) {
		lines, _, err := kit.ReadLines(ctx, clients.Pods, request)
		var texts []string
		for _, line := range lines {
			texts = append(texts, string(line.GetText()))
		}
		slices.Sort(texts)
		return strings.Join(texts, " "), err
	}
}

// ownPods is a filter for the pods of the matrix.
func (m *matrix) ownPods() string {
	return fmt.Sprintf("object.metadata.namespace in [%q, %q]", m.a, m.b)
}

func (m *matrix) getLatest(clients harness.Clients, namespace, name string) answer {
	return func(ctx context.Context) (string, error) {
		got, err := clients.Resources.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: name, Consistency: kit.Latest})
		return m.names(got.GetObject()), err
	}
}

func (m *matrix) getScale(clients harness.Clients) answer {
	return func(ctx context.Context) (string, error) {
		got, err := clients.Resources.Get(ctx, &kubeconnectv1.GetRequest{Resource: "deployments.apps", Namespace: m.a, Name: "web", Subresource: "scale"})
		return m.names(got.GetObject()), err
	}
}

func (m *matrix) listLatest(clients harness.Clients, namespace, fieldSelector string) answer {
	return func(ctx context.Context) (string, error) {
		list, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{
			Resource: "configmaps", Namespace: namespace, FieldSelector: fieldSelector, LabelSelector: m.label(), Consistency: kit.Latest,
		})
		return m.names(list.GetObjects()...), err
	}
}

// getTable shows the rows in the notation of objects.
func (m *matrix) getTable(clients harness.Clients, namespace, name string) answer {
	request := &kubeconnectv1.GetTableRequest{Resource: "configmaps", Namespace: namespace, Name: name}
	if name == "" {
		request.LabelSelector = m.label()
	}
	return func(ctx context.Context) (string, error) {
		table, err := clients.Resources.GetTable(ctx, request)
		var objects []*kubeconnectv1.Object
		for _, row := range table.GetRows() {
			objects = append(objects, &kubeconnectv1.Object{Namespace: row.GetNamespace(), Name: row.GetName()})
		}
		return m.names(objects...), err
	}
}

func (m *matrix) patch(clients harness.Clients, namespace, name string) answer {
	return func(ctx context.Context) (string, error) {
		patched, err := clients.Resources.Patch(ctx, kit.WithData(&kubeconnectv1.PatchRequest{
			Resource: "configmaps", Namespace: namespace, Name: name, Type: kit.MergePatch,
		}, `{"data":{"key":"changed"}}`))
		return m.names(patched.GetObject()), err
	}
}

// create and the functions below it make dry runs, so that other calls find the same objects.
func (m *matrix) create(clients harness.Clients, namespace, name string) answer {
	return func(ctx context.Context) (string, error) {
		response, err := clients.Resources.Create(ctx, &kubeconnectv1.CreateRequest{
			Resource: "configmaps", Namespace: namespace, DryRun: true,
			Body: &kubeconnectv1.CreateRequest_Data{Data: fmt.Appendf(nil, `{"metadata":{"name":%q}}`, name)},
		})
		return m.names(response.GetObject()), err
	}
}

func (m *matrix) update(clients harness.Clients, namespace, name string) answer {
	return func(ctx context.Context) (string, error) {
		updated, err := clients.Resources.Update(ctx, &kubeconnectv1.UpdateRequest{
			Resource: "configmaps", Namespace: namespace, DryRun: true,
			Body: &kubeconnectv1.UpdateRequest_Data{Data: fmt.Appendf(nil, `{"metadata":{"name":%q}}`, name)},
		})
		return m.names(updated.GetObject()), err
	}
}

func (m *matrix) delete(clients harness.Clients, namespace, name string) answer {
	return func(ctx context.Context) (string, error) {
		_, err := clients.Resources.Delete(ctx, &kubeconnectv1.DeleteRequest{Resource: "configmaps", Namespace: namespace, Name: name, DryRun: true})
		return "1", err
	}
}

func (m *matrix) deleteCollection(clients harness.Clients, namespace string) answer {
	return func(ctx context.Context) (string, error) {
		deleted, err := clients.Resources.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{
			Resource: "configmaps", Namespace: namespace, LabelSelector: m.label(), DryRun: true,
		})
		return fmt.Sprint(deleted.GetDeletedCount()), err
	}
}

// list shows the objects of the matrix.
func (m *matrix) list(clients harness.Clients, resource, namespace, fieldSelector string) answer {
	return func(ctx context.Context) (string, error) {
		list, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{
			Resource: resource, Namespace: namespace, FieldSelector: fieldSelector, LabelSelector: m.label(),
		})
		return m.names(list.GetObjects()...), err
	}
}

// watch shows the objects of the snapshot.
func (m *matrix) watch(clients harness.Clients, resource, namespace, name, fieldSelector string) answer {
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := responses.Of(clients.Resources.Watch(ctx, &kubeconnectv1.WatchRequest{
			Resource: resource, Namespace: namespace, Name: name, FieldSelector: fieldSelector, LabelSelector: m.label(),
		}))
		if err != nil {
			return "", err
		}
		defer stream.Close()
		var held validate.Model
		for !held.Synced && stream.Receive() {
			for _, event := range stream.Msg().GetEvents() {
				held.Apply(event)
			}
		}
		if !held.Synced {
			return "", stream.Err()
		}
		return m.names(slices.Collect(maps.Values(held.Objects))...), nil
	}
}

// watchMany shows the objects of the snapshots.
func (m *matrix) watchMany(clients harness.Clients, watches ...*kubeconnectv1.WatchRequest) answer {
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for _, watch := range watches {
			watch.LabelSelector = m.label()
		}
		stream, err := responses.Of(clients.Resources.WatchMany(ctx, &kubeconnectv1.WatchManyRequest{Watches: harness.WatchSpecs(watches...)}))
		if err != nil {
			return "", err
		}
		defer stream.Close()
		held := make([]validate.Model, len(watches))
		var objects []*kubeconnectv1.Object
		for synced := 0; synced < len(watches); {
			if !stream.Receive() {
				return "", stream.Err()
			}
			model := &held[stream.Msg().GetWatchIndex()]
			was := model.Synced
			for _, event := range stream.Msg().GetResponse().GetEvents() {
				model.Apply(event)
			}
			if model.Synced && !was {
				synced++
				objects = slices.AppendSeq(objects, maps.Values(model.Objects))
			}
		}
		return m.names(objects...), nil
	}
}

// count shows the number of the matrix's objects, in total and by namespace.
func (m *matrix) count(clients harness.Clients, namespace string) answer {
	return func(ctx context.Context) (string, error) {
		count, err := clients.Resources.Count(ctx, &kubeconnectv1.CountRequest{
			Resource: "configmaps", Namespace: namespace, LabelSelector: m.label(), GroupBy: []string{"metadata.namespace"},
		})
		return m.countsText(count.GetTotalCount(), count.GetGroups()), err
	}
}

// countsText returns counts by namespace, in the order of the namespaces.
func (m *matrix) countsText(total int64, groups []*kubeconnectv1.ObjectGroup) string {
	texts := []string{fmt.Sprint(total)}
	for _, group := range groups {
		texts = append(texts, fmt.Sprintf("%s:%d", m.short(group.GetValues()[0].GetStringValue()), group.GetCount()))
	}
	slices.Sort(texts[1:])
	return strings.Join(texts, " ")
}

// countsRequest asks for the counts of the matrix's objects by namespace.
func (m *matrix) countsRequest(namespace string) *kubeconnectv1.WatchCountsRequest {
	return &kubeconnectv1.WatchCountsRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: m.label(), GroupBy: []string{"metadata.namespace"}}
}

// watchCounts shows the first counts.
func (m *matrix) watchCounts(clients harness.Clients, namespace string) answer {
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := responses.Of(clients.Resources.WatchCounts(ctx, m.countsRequest(namespace)))
		if err != nil {
			return "", err
		}
		defer stream.Close()
		for stream.Receive() {
			if response := stream.Msg(); response.GetReset_() {
				return m.countsText(response.GetTotalCount(), response.GetGroups()), nil
			}
		}
		return "", stream.Err()
	}
}

// listOwned shows the objects that an object of A owns, which are none.
func (m *matrix) listOwned(clients harness.Clients, resource, name string) answer {
	return func(ctx context.Context) (string, error) {
		list, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: m.a, Related: &kubeconnectv1.Relation{
			Type: kit.RelatedOwnedBy, Resource: resource, Namespace: m.a, Name: name,
		}})
		return m.names(list.GetObjects()...), err
	}
}

// listJoined shows ConfigMaps, each with the number of objects that it names at a path.
func (m *matrix) listJoined(clients harness.Clients, namespace, fieldSelector, resource, path string) answer {
	return func(ctx context.Context) (string, error) {
		list, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{
			Resource: "configmaps", Namespace: namespace, FieldSelector: fieldSelector, LabelSelector: m.label(),
			Joins: []*kubeconnectv1.Join{{Name: "named", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY, Resource: resource, Path: path}},
		})
		var shown []string
		for _, object := range list.GetObjects() {
			joined := object.GetJoined()[0]
			count := fmt.Sprint(joined.GetCount())
			if joined.GetNotPermitted() {
				count = "denied"
			}
			shown = append(shown, m.names(object)+":"+count)
		}
		slices.Sort(shown)
		return strings.Join(shown, " "), err
	}
}
