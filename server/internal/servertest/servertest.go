package servertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
)

func Some(namespaces ...string) auth.Namespaces { return auth.Namespaces{Names: namespaces} }

// TwoNamespaces returns an API server with pods in two namespaces.
func TwoNamespaces() *FakeAPI {
	api := PodsAPI()
	other := objecttest.Pod("c", 5)
	other.Namespace = "other"
	api.Objects = append(api.Objects, other)
	return api
}

func ManyPods(t *testing.T, count int) []*informerhub.Object {
	t.Helper()
	objects := make([]*informerhub.Object, count)
	for i := range objects {
		objects[i] = objecttest.PodObject(t, objecttest.Pod(fmt.Sprint("pod-", i), i))
	}
	return objects
}

// CalledBy returns the context of a call.
func CalledBy(ctx context.Context, name string) context.Context {
	return call.WithCaller(ctx, call.Caller{Identity: auth.Identity{Username: name}})
}

// WidgetsWith returns custom objects, one for each of the specs in JSON.
func WidgetsWith(t testing.TB, specs ...string) []*informerhub.Object {
	t.Helper()
	var objects []*informerhub.Object
	for i, spec := range specs {
		objects = append(objects, objecttest.WidgetObject(t, fmt.Sprintf(
			`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"a","name":"w-%d","uid":"u%d","resourceVersion":"1"},"spec":%s}`, i, i, spec)))
	}
	return objects
}

func Until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("condition not reached: %s", what)
			return
		}
	}
}

// Leaving is a context that is done after it was checked the given number of times.
type Leaving struct {
	context.Context
	Looks int
}

func (l *Leaving) Err() error {
	if l.Looks--; l.Looks < 0 {
		return context.Canceled
	}
	return nil
}

// PodsAPI returns an API server with two pods.
func PodsAPI() *FakeAPI {
	return &FakeAPI{Objects: []any{objecttest.Pod("a", 3), objecttest.Pod("b", 4)}, Version: "10", Events: make(chan any)}
}

// LargePods returns pods in each of two namespaces. Their names begin with the namespace.
func LargePods(count int) *FakeAPI {
	api := &FakeAPI{Version: "1000", Events: make(chan any)}
	for _, namespace := range []string{"default", "other"} {
		for i := range count {
			pod := objecttest.Pod(fmt.Sprintf("%s-%d", namespace, i), len(api.Objects)+1)
			pod.Namespace, pod.Annotations = namespace, map[string]string{"large": strings.Repeat("x", podBytes)}
			api.Objects = append(api.Objects, pod)
		}
	}
	return api
}

// HubOf returns a hub of an API server.
func HubOf(t testing.TB, api http.Handler) *informerhub.Hub {
	t.Helper()
	upstream := httptest.NewServer(api)
	t.Cleanup(upstream.Close)
	hub, err := informerhub.New(&rest.Config{Host: upstream.URL}, informerhub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	return hub
}

func AnswerWith(status int, body any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
}

// podBytes is the size of a large pod: larger than half of a message, so that each pod has a message of its own.
const podBytes = 100 << 10

var Deployments = informerhub.Resource{Group: "apps", Version: "v1", Name: "deployments", Kind: "Deployment", Namespaced: true, Watchable: true}

// ManyPodsAPI has pods, each with half as many restarts as the one before.
func ManyPodsAPI(count int, version string) *FakeAPI {
	api := &FakeAPI{Version: version, Events: make(chan any)}
	for i := range count {
		pod := objecttest.Pod(fmt.Sprintf("pod-%02d", i), i+1)
		pod.Labels = map[string]string{"rank": fmt.Sprint(count - i)}
		api.Objects = append(api.Objects, pod)
	}
	api.List = ListsByNamespace(api)
	return api
}

// ListsByNamespace returns lists of the pods that a fake has.
func ListsByNamespace(api *FakeAPI) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: api.Version}}
		for _, object := range api.Objects {
			pod := object.(*corev1.Pod)
			if path := strings.Split(r.URL.Path, "/"); !slices.Contains(path, "namespaces") || slices.Contains(path, pod.Namespace) {
				list.Items = append(list.Items, *pod)
			}
		}
		_ = json.NewEncoder(w).Encode(list)
	})
}

// Aggregate returns an aggregate of a request.
func Aggregate(function kubeconnectv1.AggregateFunction, path string) *kubeconnectv1.Aggregate {
	return &kubeconnectv1.Aggregate{Function: function, Path: path}
}

// AggregateLine returns aggregates in one line: exact values, or others, with the number of values.
func AggregateLine(results []*kubeconnectv1.AggregateResult) string {
	var texts []string
	for _, result := range results {
		text := result.GetExact()
		if text == "" {
			text = fmt.Sprint(result.GetValue().AsInterface())
		}
		if text += fmt.Sprint("/", result.GetValueCount()); result.GetOmittedValueCount() > 0 {
			text += fmt.Sprint("+", result.GetOmittedValueCount())
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

// TablePod returns a typical pod: a web server with a sidecar proxy.
func TablePod(t testing.TB, name string) *corev1.Pod {
	t.Helper()
	text, err := os.ReadFile("../informerhub/internal/kubejson/testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	pod := objecttest.Pod(name, 1)
	if err := json.Unmarshal(text, pod); err != nil {
		t.Fatal(err)
	}
	pod.Name = name
	return pod
}

// TableOfPods are the fields in a table of pods.
var TableOfPods = []string{"metadata.name", "metadata.namespace", "status.phase", "spec.nodeName", "spec.containers[*].image"}
