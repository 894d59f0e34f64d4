package change

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// Target is the object, the subresource or, if Name is empty, the collection that a change is made
// to.
type Target struct {
	Resource    informerhub.Resource
	Namespace   string
	Name        string
	Subresource string
}

// addTo completes a request with the target's path. The response has the form in which the API
// server has the kind: JSON, or protobuf if it is built in.
func (t Target) addTo(request *rest.Request) *rest.Request {
	request = request.AbsPath(t.root(), t.Resource.Group, t.Resource.Version).
		NamespaceIfScoped(t.Namespace, t.Resource.Namespaced).
		Resource(t.Resource.Name).
		SubResource(t.Subresource)
	if t.Name != "" {
		request = request.Name(t.Name)
	}
	if !t.Resource.BuiltIn() {
		request = request.SetHeader("Accept", runtime.ContentTypeJSON)
	}
	return request
}

// root returns the path of all versions of the target's group. That of the core group is different.
func (t Target) root() string {
	if t.Resource.Group == "" {
		return "/api"
	}
	return "/apis"
}

// kind returns the kind of the target's objects.
func (t Target) kind() schema.GroupVersionKind {
	if t.Subresource == "scale" {
		return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	}
	return t.Resource.GroupVersionKind()
}
