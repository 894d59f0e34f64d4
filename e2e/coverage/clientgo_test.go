package coverage_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// clientGo calls the API server with client-go: with its dynamic client, and with a REST client
// where the dynamic client would discard the response.
type clientGo struct{ cluster *harness.Cluster }

func (c clientGo) do(ctx context.Context, asked call) (any, error) {
	objects, parts := c.objects(asked), subresources(asked.of)
	switch asked.verb {
	case "get":
		return content(objects.Get(ctx, asked.name, metav1.GetOptions{}, parts...))
	case "list":
		return items(objects.List(ctx, metav1.ListOptions{LabelSelector: asked.labels, FieldSelector: asked.fields}))
	case "create":
		return content(objects.Create(ctx, asked.object(), metav1.CreateOptions{FieldManager: asked.manager}, parts...))
	case "update":
		return content(objects.Update(ctx, asked.object(), metav1.UpdateOptions{FieldManager: asked.manager}, parts...))
	case "patch":
		return content(objects.Patch(ctx, asked.name, asked.patchType, asked.patch, patchOptions(asked), parts...))
	case "delete":
		return c.delete(ctx, asked)
	case "deletecollection":
		return c.deleteCollection(ctx, asked)
	}
	return nil, errors.New("unknown verb: " + asked.verb)
}

func (c clientGo) objects(asked call) dynamic.ResourceInterface {
	resource := c.cluster.Dynamic.Resource(asked.of.of)
	if asked.of.namespaced {
		return resource.Namespace(asked.namespace)
	}
	return resource
}

func subresources(of row) []string {
	if of.subresource == "" {
		return nil
	}
	return []string{of.subresource}
}

// object returns the body for the dynamic client.
func (c call) object() *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: c.body}
	object = object.DeepCopy()
	if c.of.subresource != "" && object.GetName() == "" {
		object.SetName(c.name) // the client reads the name from the object
	}
	return object
}

func patchOptions(asked call) metav1.PatchOptions {
	options := metav1.PatchOptions{FieldManager: asked.manager}
	if asked.patchType == types.ApplyYAMLPatchType {
		options.Force = &asked.force
	}
	return options
}

func content(object *unstructured.Unstructured, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return object.Object, nil
}

func items(list *unstructured.UnstructuredList, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	found := []any{}
	for _, item := range list.Items {
		found = append(found, item.Object)
	}
	return found, nil
}

// delete returns the remaining object; nil if the API server only confirms the deletion.
func (c clientGo) delete(ctx context.Context, asked call) (any, error) {
	options := metav1.DeleteOptions{}
	if uid := types.UID(asked.uid); uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	left, err := c.send(ctx, asked, options)
	if err != nil || left["kind"] == "Status" {
		return nil, err
	}
	return left, nil
}

func (c clientGo) deleteCollection(ctx context.Context, asked call) (any, error) {
	deleted, err := c.send(ctx, asked, metav1.DeleteOptions{})
	if err != nil {
		return nil, err
	}
	items, _ := deleted["items"].([]any)
	return len(items), nil
}

func (c clientGo) send(ctx context.Context, asked call, options metav1.DeleteOptions) (map[string]any, error) {
	body, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	request := c.cluster.Client.Discovery().RESTClient().Delete().AbsPath(path(asked)).
		SetHeader("Accept", "application/json").SetHeader("Content-Type", "application/json").Body(body)
	if asked.labels != "" {
		request.Param("labelSelector", asked.labels)
	}
	if asked.fields != "" {
		request.Param("fieldSelector", asked.fields)
	}
	result := request.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	answer, err := result.Raw()
	if err != nil {
		return nil, err
	}
	left := map[string]any{}
	return left, json.Unmarshal(answer, &left)
}

// path returns the API server's path for a call.
func path(asked call) string {
	parts := []string{"/apis", asked.of.of.Group, asked.of.of.Version}
	if asked.of.of.Group == "" {
		parts = []string{"/api", asked.of.of.Version}
	}
	if asked.of.namespaced {
		parts = append(parts, "namespaces", asked.namespace)
	}
	parts = append(parts, asked.of.of.Resource, asked.name, asked.of.subresource)
	return strings.TrimRight(strings.Join(parts, "/"), "/")
}

// failureOf returns the failure in an error of client-go.
func failureOf(err error) *failure {
	var failed apierrors.APIStatus
	if !errors.As(err, &failed) {
		return &failure{Message: err.Error()}
	}
	status := failed.Status()
	said := &failure{Reason: string(status.Reason), Message: status.Message, Code: status.Code}
	if status.Details == nil {
		return said.shortened()
	}
	said.Group, said.Kind, said.Name, said.UID = status.Details.Group, status.Details.Kind, status.Details.Name, string(status.Details.UID)
	said.RetryAfter = status.Details.RetryAfterSeconds
	for _, of := range status.Details.Causes {
		said.Causes = append(said.Causes, cause{string(of.Type), of.Message, of.Field})
	}
	return said.shortened()
}
