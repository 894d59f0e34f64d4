package writes_test

import (
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestCreate_NamesOfRequestAndBodyMustBeEqual gives them in the request, in the body, and in both.
func TestCreate_NamesOfRequestAndBodyMustBeEqual(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	for name, test := range map[string]struct {
		namespace, name, body string
		words                 string // of the error; empty for none
	}{
		"both in both":                 {namespace: namespace, name: "one", body: `{"metadata":{"name":"one","namespace":"` + namespace + `"}}`},
		"namespace in the body":        {body: `{"metadata":{"name":"two","namespace":"` + namespace + `"}}`},
		"namespace in the request":     {namespace: namespace, body: `{"metadata":{"name":"three"}}`},
		"another namespace":            {namespace: namespace, body: `{"metadata":{"name":"four","namespace":"default"}}`, words: "namespace"},
		"another name":                 {namespace: namespace, name: "five", body: `{"metadata":{"name":"six"}}`, words: "name"},
		"the name only in the request": {namespace: namespace, name: "seven", body: `{"metadata":{}}`, words: "name"},
	} {
		t.Run(name, func(t *testing.T) {
			created, err := client.Create(ctx, &kubeconnectv1.CreateRequest{
				Resource: "configmaps", Namespace: test.namespace, Name: test.name, Body: &kubeconnectv1.CreateRequest_Data{Data: []byte(test.body)},
			})
			if test.words != "" {
				kit.WantError(t, err, connect.CodeInvalidArgument, test.words)
			} else if err != nil || created.GetObject().GetNamespace() != namespace {
				t.Errorf("created %v, %v", created.GetObject(), err)
			}
		})
	}
}

// TestUpdate_NamesOfRequestAndBodyMustBeEqual is the same for updates.
func TestUpdate_NamesOfRequestAndBodyMustBeEqual(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	write.Create("one", nil)
	other := write.Create("two", nil)
	for name, test := range map[string]struct {
		namespace, name, body string
		words                 string // of the error; empty for none
	}{
		"both in both":             {namespace: namespace, name: "one", body: `{"metadata":{"name":"one","namespace":"` + namespace + `"},"data":{"a":"1"}}`},
		"both in the body":         {body: `{"metadata":{"name":"one","namespace":"` + namespace + `"},"data":{"a":"2"}}`},
		"namespace in the request": {namespace: namespace, body: `{"metadata":{"name":"one"},"data":{"a":"3"}}`},
		"another namespace":        {namespace: namespace, name: "one", body: `{"metadata":{"name":"one","namespace":"default"},"data":{"a":"4"}}`, words: "namespace"},
		"another name":             {namespace: namespace, name: "one", body: `{"metadata":{"name":"two"},"data":{"a":"5"}}`, words: "name"},
		"no name":                  {namespace: namespace, body: `{"data":{"a":"6"}}`, words: "name is required"},
	} {
		t.Run(name, func(t *testing.T) {
			updated, err := client.Update(ctx, &kubeconnectv1.UpdateRequest{
				Resource: "configmaps", Namespace: test.namespace, Name: test.name, Body: &kubeconnectv1.UpdateRequest_Data{Data: []byte(test.body)},
			})
			if test.words != "" {
				kit.WantError(t, err, connect.CodeInvalidArgument, test.words)
			} else if err != nil || updated.GetObject().GetName() != "one" || updated.GetCreated() {
				t.Errorf("updated %v, %v", updated, err)
			}
		})
	}
	kit.WantUnchanged(t, write, other)
}
