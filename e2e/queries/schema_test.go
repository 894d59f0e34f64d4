package queries_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"github.com/google/go-cmp/cmp"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestSchema_MatchesTheAPIServersDocument(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), kit.NewNamespace(ctx, t, kit.Cluster(t)))
	gadgets.Define("v1")
	discoverOverEachProtocol(t, func(t *testing.T, client kit.DiscoveryClient) {
		for resource, test := range map[string]struct {
			path, kind string
			parts      int // minimum number of referenced schemas
		}{
			"pods":                      {"api/v1", "Pod", 50},
			"deploy":                    {"apis/apps/v1", "Deployment", 50},
			"customresourcedefinitions": {"apis/apiextensions.k8s.io/v1", "CustomResourceDefinition", 10},
			gadgets.Name():              {"apis/" + gadgets.Group + "/v1", "Gadget", 1},
		} {
			t.Run(test.kind, func(t *testing.T) {
				ctx := kit.Deadline(t)
				got := untilSchema(ctx, t, client, resource, test.kind)
				parts := partsOf(got)
				delete(got, "components")
				document := documentOf(ctx, t, test.path)
				if diff := cmp.Diff(schemaOfKind(document, test.kind), got); diff != "" {
					t.Errorf("the schema differs (-API server +kubeconnect):\n%s", diff)
				}
				wantParts(t, got, parts, document)
				if len(parts) < test.parts {
					t.Errorf("only %d parts", len(parts))
				}
			})
		}
	})
}

// untilSchema blocks until the API server publishes the schema of a kind, which happens some time
// after it starts to serve the kind.
func untilSchema(ctx context.Context, t *testing.T, client kit.DiscoveryClient, resource, kind string) (schema map[string]any) {
	t.Helper()
	kit.Eventually(ctx, t, "the schema exists", func() error {
		answer, err := client.GetSchema(ctx, &kubeconnectv1.GetSchemaRequest{Resource: resource})
		if err != nil {
			return err
		}
		if answer.GetResource().GetKind() != kind {
			t.Fatalf("schema of kind %v", answer.GetResource())
		}
		schema = answer.GetSchema().AsMap()
		return nil
	})
	return schema
}

func partsOf(schema map[string]any) map[string]any {
	components, _ := schema["components"].(map[string]any)
	parts, _ := components["schemas"].(map[string]any)
	return parts
}

// documentOf returns the schemas that the API server publishes, by name.
func documentOf(ctx context.Context, t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := kit.Cluster(t).Client.Discovery().RESTClient().Get().AbsPath("/openapi/v3/"+path).SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		t.Fatal(err)
	}
	document := map[string]any{}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return partsOf(document)
}

// schemaOfKind returns the schema whose name ends in a kind.
func schemaOfKind(document map[string]any, kind string) map[string]any {
	for name, schema := range document {
		if strings.HasSuffix(name, "."+kind) {
			return schema.(map[string]any)
		}
	}
	return nil
}

// wantParts fails the test unless the parts are exactly the schemas that a schema references,
// directly or indirectly.
func wantParts(t *testing.T, schema, parts, document map[string]any) {
	t.Helper()
	text, err := json.Marshal([]any{schema, parts})
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range parts {
		if diff := cmp.Diff(document[name], part); diff != "" {
			t.Errorf("%s differs (-API server +kubeconnect):\n%s", name, diff)
		}
	}
	const prefix = `"$ref":"#/components/schemas/`
	referred := map[string]bool{}
	for _, rest := range strings.Split(string(text), prefix)[1:] {
		name, _, _ := strings.Cut(rest, `"`)
		referred[name] = true
		if parts[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
	if len(referred) != len(parts) {
		t.Errorf("%d parts, %d referenced schemas", len(parts), len(referred))
	}
}

func TestSchema_FollowsItsCRD(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Discovery
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), kit.NewNamespace(ctx, t, kit.Cluster(t)))
	gadgets.Define("v1")
	wantDescription := func(want string) {
		t.Helper()
		kit.Eventually(ctx, t, "the description of the schema is "+want, func() error {
			answer, err := client.GetSchema(ctx, &kubeconnectv1.GetSchemaRequest{Resource: gadgets.Name()})
			if err != nil {
				return err
			}
			if description := answer.GetSchema().GetFields()["description"].GetStringValue(); description != want {
				return fmt.Errorf("description %q", description)
			}
			return nil
		})
	}
	wantDescription("")
	gadgets.Describe("something small")
	wantDescription("something small")
	gadgets.Remove()
	kit.Eventually(ctx, t, "the schema does not exist", func() error {
		_, err := client.GetSchema(ctx, &kubeconnectv1.GetSchemaRequest{Resource: gadgets.Name()})
		return kit.HasCode(err, connect.CodeNotFound)
	})
}

func TestSchema_ErrorsAreReportedByCode(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	link := harness.StartProxy(t, kit.Cluster(t).Address(), harness.None)
	service := harness.StartService(t, harness.KubeconfigTo(t, kit.Cluster(t).Kubeconfig, link.Address()))
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Discovery
	_, err := client.GetSchema(ctx, &kubeconnectv1.GetSchemaRequest{})
	kit.WantError(t, err, connect.CodeInvalidArgument, "resource")
	_, err = client.GetSchema(ctx, &kubeconnectv1.GetSchemaRequest{Resource: "podz"})
	kit.WantError(t, err, connect.CodeNotFound, "podz", "pods")
	untilSchema(ctx, t, client, "pods", "Pod")

	link.Set(harness.Refused)
	for name, call := range map[string]func() error{
		"GetSchema": func() error {
			_, err := client.GetSchema(ctx, &kubeconnectv1.GetSchemaRequest{Resource: "pods"})
			return err
		},
		"ListResourceTypes": func() error {
			_, err := client.ListResourceTypes(ctx, &kubeconnectv1.ListResourceTypesRequest{})
			return err
		},
	} {
		kit.Eventually(ctx, t, name+" reports that the API server is unreachable", func() error { return kit.HasCode(call(), connect.CodeUnavailable) })
	}
	link.Set(harness.None)
	kit.Eventually(ctx, t, "the types are listed again", func() error {
		_, err := client.ListResourceTypes(ctx, &kubeconnectv1.ListResourceTypesRequest{})
		return err
	})
	untilSchema(ctx, t, client, "pods", "Pod")
}
