package permissions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// directReader reads from the API server itself, with a caller's token, or as an administrator
// without one.
type directReader struct {
	host   string
	client *http.Client
	typed  *kubernetes.Clientset
}

func newDirectReader(t *testing.T, controlPlane *harness.Cluster, token string) *directReader {
	t.Helper()
	config := rest.CopyConfig(controlPlane.Config)
	if token != "" {
		config = rest.AnonymousClientConfig(controlPlane.Config)
		config.BearerToken = token
	}
	config.QPS = -1
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	typed, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		t.Fatal(err)
	}
	return &directReader{controlPlane.Config.Host, client, typed}
}

// newKubernetesReader returns a reader of Kubernetes' own API at a service, which listens without TLS.
func newKubernetesReader(t *testing.T, address, token string) *directReader {
	t.Helper()
	config := &rest.Config{Host: address, BearerToken: token, QPS: -1}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return &directReader{host: address, client: client}
}

// directAnswer is a response of the API server: the objects, or the status of an error.
type directAnswer struct {
	status  int
	objects []metav1.PartialObjectMetadata
}

func (a directAnswer) allowed() bool { return a.status == http.StatusOK }

const metadataOnly = "application/json;as=PartialObjectMetadata%s;g=meta.k8s.io;v=v1"

// get reads one object's metadata.
func (r *directReader) get(ctx context.Context, path string) (directAnswer, error) {
	var object metav1.PartialObjectMetadata
	status, err := r.read(ctx, path, fmt.Sprintf(metadataOnly, ""), &object)
	return directAnswer{status, []metav1.PartialObjectMetadata{object}}, err
}

// list reads the metadata of a list.
func (r *directReader) list(ctx context.Context, path string) (directAnswer, error) {
	var list metav1.PartialObjectMetadataList
	status, err := r.read(ctx, path, fmt.Sprintf(metadataOnly, "List"), &list)
	return directAnswer{status, list.Items}, err
}

// watch opens a watch, and ends it at once.
func (r *directReader) watch(ctx context.Context, path string) (directAnswer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	status, err := r.read(ctx, path, "application/json", nil)
	return directAnswer{status: status}, err
}

// initial opens a watch, and returns the objects that it begins with.
func (r *directReader) initial(ctx context.Context, path string) (directAnswer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var begun initialEvents
	status, err := r.read(ctx, path, fmt.Sprintf(metadataOnly, ""), &begun)
	return directAnswer{status, begun.objects}, err
}

// initialEvents are the objects that a watch begins with.
type initialEvents struct {
	objects []metav1.PartialObjectMetadata
}

// read reads events up to the bookmark that ends them.
func (i *initialEvents) read(decoder *json.Decoder) error {
	for {
		var event struct {
			Type   watch.EventType
			Object metav1.PartialObjectMetadata
		}
		switch err := decoder.Decode(&event); {
		case err != nil:
			return err
		case event.Type == watch.Bookmark && event.Object.Annotations[metav1.InitialEventsAnnotationKey] == "true":
			return nil
		case event.Type != watch.Added:
			return fmt.Errorf("initial event %s of %s", event.Type, event.Object.Name)
		}
		i.objects = append(i.objects, event.Object)
	}
}

// read decodes a response if its status is OK.
func (r *directReader) read(ctx context.Context, path, accept string, into any) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.host+path, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept", accept)
	answer, err := r.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
		if into == nil {
			return answer.StatusCode, nil
		}
		if events, ok := into.(*initialEvents); ok {
			return answer.StatusCode, events.read(json.NewDecoder(answer.Body))
		}
		return answer.StatusCode, json.NewDecoder(answer.Body).Decode(into)
	case http.StatusForbidden, http.StatusNotFound:
		return answer.StatusCode, nil
	}
	body, _ := io.ReadAll(answer.Body)
	return 0, fmt.Errorf("GET %s: %s: %s", path, answer.Status, body)
}

// permissionOracle caches the responses of the API server in one world, in which nothing changes.
// It is safe for concurrent use.
type permissionOracle struct {
	stage *permissionStage

	mu      sync.Mutex // guards answers
	answers map[string]directAnswer
}

func newPermissionOracle(s *permissionStage) *permissionOracle {
	return &permissionOracle{stage: s, answers: map[string]directAnswer{}}
}

// selectedBy holds the selectors of a request.
type selectedBy struct{ label, field string }

func (s selectedBy) query(watch bool) string {
	query := url.Values{}
	if s.label != "" {
		query.Set("labelSelector", s.label)
	}
	if s.field != "" {
		query.Set("fieldSelector", s.field)
	}
	if watch {
		query.Set("watch", "1")
	}
	return "?" + query.Encode()
}

func pathOf(kind permissionKind, namespace, name string) string {
	parts := []string{"/apis", kind.Group, kind.Version}
	if kind.Group == "" {
		parts = []string{"/api", kind.Version}
	}
	if namespace != "" {
		parts = append(parts, "namespaces", namespace)
	}
	parts = append(parts, kind.Resource)
	if name != "" {
		parts = append(parts, name)
	}
	return strings.Join(parts, "/")
}

func (o *permissionOracle) get(ctx context.Context, caller *permissionCaller, kind permissionKind, namespace, name string) directAnswer {
	path := pathOf(kind, namespace, name)
	return o.remember(caller.name+" GET "+path, func() (directAnswer, error) { return caller.direct.get(ctx, path) })
}

func (o *permissionOracle) list(ctx context.Context, caller *permissionCaller, kind permissionKind, namespace string, selectors selectedBy) directAnswer {
	path := pathOf(kind, namespace, "") + selectors.query(false)
	return o.remember(caller.name+" LIST "+path, func() (directAnswer, error) { return caller.direct.list(ctx, path) })
}

func (o *permissionOracle) watch(ctx context.Context, caller *permissionCaller, kind permissionKind, namespace string, selectors selectedBy) directAnswer {
	path := pathOf(kind, namespace, "") + selectors.query(true)
	return o.remember(caller.name+" WATCH "+path, func() (directAnswer, error) { return caller.direct.watch(ctx, path) })
}

// allows reports whether the caller has a permission.
func (o *permissionOracle) allows(ctx context.Context, caller *permissionCaller, attributes authorizationv1.ResourceAttributes) bool {
	return o.remember(fmt.Sprintf("%s MAY %+v", caller.name, attributes), func() (directAnswer, error) {
		review, err := caller.direct.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes},
		}, metav1.CreateOptions{})
		if err != nil || !review.Status.Allowed {
			return directAnswer{status: http.StatusForbidden}, err
		}
		return directAnswer{status: http.StatusOK}, nil
	}).allowed()
}

// remember sends each request once. An error other than one about permissions fails the test.
func (o *permissionOracle) remember(key string, ask func() (directAnswer, error)) directAnswer {
	o.mu.Lock()
	answer, known := o.answers[key]
	o.mu.Unlock()
	if known {
		return answer
	}
	answer, err := ask()
	if err != nil {
		if o.stage.ctx.Err() == nil {
			o.stage.t.Errorf("API server: %s: %v", key, err)
		}
		return answer
	}
	answer.objects = slices.DeleteFunc(answer.objects, func(object metav1.PartialObjectMetadata) bool { return !o.stage.isOwn(&object) })
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answers[key] = answer
	return answer
}
