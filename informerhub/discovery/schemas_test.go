package discovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// schemasOf returns the schemas of an API server.
func schemasOf(t *testing.T, config *rest.Config) *Schemas {
	t.Helper()
	schemas := NewSchemas(resolverOf(t, config, Options{}).RESTClient())
	t.Cleanup(func() { schemas.CloseWithError(errClosed) })
	return schemas
}

// oneKind returns a document with the schema of a Widget, and two that reference each other.
func oneKind(description string) string {
	return fmt.Sprintf(`{"components":{"schemas":{
		"example.Widget":{"description":%q,"properties":{"a":{"$ref":"#/components/schemas/A"},"$ref":{"type":"string"},"x":{"$ref":"elsewhere"}},
			"x-kubernetes-group-version-kind":[{"group":"example.com","kind":"Widget","version":"v1"}]},
		"A":{"allOf":[{"$ref":"#/components/schemas/B"}]},
		"B":{"items":{"$ref":"#/components/schemas/A"}},
		"C":{"type":"string"}}}}`, description)
}

// publishing returns an API server that publishes the document of oneKind.
func publishing(t *testing.T, description string) *fakeapi.Server {
	t.Helper()
	api := fakeapi.New(t)
	api.Publish(map[string]fakeapi.Document{"apis/example.com/v1": {Query: "?hash=1", Text: oneKind(description)}})
	return api
}

func decodedSchema(t *testing.T, encoded []byte) map[string]any {
	t.Helper()
	schema := &structpb.Struct{}
	must(t, proto.Unmarshal(encoded, schema))
	return schema.AsMap()
}

func TestSchema_ContainsReferencedSchemas(t *testing.T) {
	api := publishing(t, "one")
	encoded, err := schemasOf(t, api.DirectConfig()).Get(t.Context(), widgets)
	must(t, err)
	schema := decodedSchema(t, encoded)
	var want map[string]any
	must(t, json.Unmarshal([]byte(`{"description":"one",
		"properties":{"a":{"$ref":"#/components/schemas/A"},"$ref":{"type":"string"},"x":{"$ref":"elsewhere"}},
		"x-kubernetes-group-version-kind":[{"group":"example.com","kind":"Widget","version":"v1"}],
		"components":{"schemas":{"A":{"allOf":[{"$ref":"#/components/schemas/B"}]},"B":{"items":{"$ref":"#/components/schemas/A"}}}}}`), &want))
	if diff := cmp.Diff(want, schema); diff != "" {
		t.Error(diff)
	}
}

func TestSchemas_ReloadADocumentWhenItsHashChanges(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		api := fakeapi.New(t)
		schemas := schemasOf(t, api.DirectConfig())
		for _, step := range []struct {
			hash, text string
			want       string
			reads      int
		}{
			{"?hash=1", "one", "one", 1},
			{"?hash=1", "what is not looked at", "one", 1},
			{"?hash=2", "two", "two", 2},
			{"", "three", "three", 3},
			{"", "four", "four", 4},
		} {
			api.Publish(map[string]fakeapi.Document{"apis/example.com/v1": {Query: step.hash, Text: oneKind(step.text)}})
			time.Sleep(maxSchemasAge)
			encoded, err := schemas.Get(t.Context(), widgets)
			must(t, err)
			schema := decodedSchema(t, encoded)
			if reads := api.Requests()["/openapi/v3/apis/example.com/v1"]; schema["description"] != step.want || reads != step.reads {
				t.Errorf("at %q the schema is %v, read %d times", step.hash, schema["description"], reads)
			}
		}
	})
}

func TestSchemas_CallersShareOneRequest(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		api := publishing(t, "one")
		schemas := schemasOf(t, api.DirectConfig())
		var asking sync.WaitGroup
		for range 100 {
			asking.Go(func() {
				if _, err := schemas.Get(t.Context(), widgets); err != nil {
					t.Error(err)
				}
			})
		}
		asking.Wait()
		if !slices.Equal(slices.Collect(maps.Values(api.Requests())), []int{1, 1}) {
			t.Errorf("requested %v", api.Requests())
		}
	})
}

func TestSchema_ReturnsNoSchemaErrorForUnknownKinds(t *testing.T) {
	api := publishing(t, "one")
	schemas := schemasOf(t, api.DirectConfig())
	other := widgets
	other.Kind = "Other"
	for name, resource := range map[string]object.Resource{"a group without a document": pods, "a kind that is not in it": other} {
		var none *NoSchemaError
		if _, err := schemas.Get(t.Context(), resource); !errors.As(err, &none) || !strings.Contains(err.Error(), resource.String()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchema_UnreachableAPIServerIsUnavailable(t *testing.T) {
	away := errors.New("unreachable")
	schemas := schemasOf(t, &rest.Config{Host: "http://api.example", Transport: fakeapi.TransportFunc(func(*http.Request) (*http.Response, error) { return nil, away })})
	var unavailable *UnavailableError
	if _, err := schemas.Get(t.Context(), pods); !errors.As(err, &unavailable) || !errors.Is(err, away) {
		t.Errorf("error %v", err)
	}
}

func TestSchema_FailsAfterClose(t *testing.T) {
	schemas := schemasOf(t, fakeapi.New(t).DirectConfig())
	schemas.CloseWithError(errClosed)
	if _, err := schemas.Get(t.Context(), pods); !errors.Is(err, errClosed) {
		t.Errorf("error %v", err)
	}
}

func TestSchema_IsBuiltOnceForEachHash(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		api := publishing(t, "one")
		schemas := schemasOf(t, api.DirectConfig())
		first, err := schemas.Get(t.Context(), widgets)
		must(t, err)
		for range 3 {
			again, err := schemas.Get(t.Context(), widgets)
			must(t, err)
			if &again[0] != &first[0] {
				t.Error("the schema is built again")
			}
		}
		api.Publish(map[string]fakeapi.Document{"apis/example.com/v1": {Query: "?hash=2", Text: oneKind("two")}})
		time.Sleep(maxSchemasAge)
		other, err := schemas.Get(t.Context(), widgets)
		must(t, err)
		if decodedSchema(t, other)["description"] != "two" {
			t.Error("the schema of the previous document is served")
		}
	})
}

func TestBuiltSchemas_AreBoundedInBytes(t *testing.T) {
	built := newBuiltSchemas()
	key := func(i int) schemaKey { return schemaKey{fmt.Sprint(i), "a"} }
	const each = 1 << 20
	for i := range 2 * maxBuiltBytes / each {
		built.add(key(i), make([]byte, each))
		if built.find(key(0)) == nil {
			t.Fatalf("a frequently requested schema was evicted, with %d bytes", built.bytes)
		}
	}
	if built.bytes > maxBuiltBytes || built.recent.Len() != maxBuiltBytes/each {
		t.Errorf("cached %d schemas in %d bytes", built.recent.Len(), built.bytes)
	}
	if built.find(key(1)) != nil {
		t.Error("a schema without requests is cached")
	}
}

func TestSchema_IsBoundedInBytes(t *testing.T) {
	api := publishing(t, strings.Repeat("x", maxSchemaBytes))
	_, err := schemasOf(t, api.DirectConfig()).Get(t.Context(), widgets)
	if !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("error %v", err)
	}
}
