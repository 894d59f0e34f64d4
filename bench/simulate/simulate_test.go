package simulate

import (
	"context"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const count = 400

var mediaTypes = []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON}

// start serves pods, and returns them with the configuration of a client that uses a media type.
func start(t *testing.T, mediaType string) (*Pods, *rest.Config) {
	t.Helper()
	pods, err := NewPods(count)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := NewHandler(pods)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return pods, &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{
		ContentType: mediaType, AcceptContentTypes: mediaType,
	}}
}

func startClient(t *testing.T, mediaType string) (*Pods, kubernetes.Interface) {
	t.Helper()
	pods, config := start(t, mediaType)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return pods, client
}

// versions returns the version of each pod by its name.
func (p *Pods) versions() map[string]string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	versions := make(map[string]string)
	for number, s := range p.states {
		name := "app-000000-7d9c5b8f6d-0000000-0000"
		text := []byte(name)
		putDigits(text[4:10], uint64(number/podsOfApp))
		putDigits(text[22:29], uint64(number))
		putDigits(text[30:34], uint64(s.incarnation))
		versions[string(text)] = strconv.FormatUint(s.version, 10)
	}
	return versions
}

func TestHandler_AnInformerFollowsTheChanges(t *testing.T) {
	t.Parallel()
	for _, mediaType := range mediaTypes {
		t.Run(mediaType, func(t *testing.T) {
			t.Parallel()
			pods, client := startClient(t, mediaType)
			ctx, stop := context.WithCancel(t.Context())
			informer := informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
			received := make(chan string, count) // the versions of the pods in changes
			if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				UpdateFunc: func(_, pod any) { received <- pod.(*corev1.Pod).ResourceVersion },
			}); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				informer.RunWithContext(ctx)
			}()
			defer func() { stop(); <-ended }()
			if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
				t.Fatal("the informer has not synced")
			}
			pods.change(3*replacedEach + 1)
			for last := strconv.FormatUint(pods.version, 10); <-received != last; {
				continue
			}
			stored := make(map[string]string)
			for _, item := range informer.GetStore().List() {
				stored[item.(*corev1.Pod).Name] = item.(*corev1.Pod).ResourceVersion
			}
			if diff := cmp.Diff(pods.versions(), stored); diff != "" {
				t.Errorf("the store of the informer differs (-simulated +stored):\n%s", diff)
			}
		})
	}
}

func TestHandler_PagesAreOfOneVersion(t *testing.T) {
	t.Parallel()
	for _, mediaType := range mediaTypes {
		t.Run(mediaType, func(t *testing.T) {
			t.Parallel()
			pods, client := startClient(t, mediaType)
			pods.change(2 * replacedEach)
			want, got := pods.versions(), make(map[string]string)
			options := metav1.ListOptions{Limit: 150}
			for page := 0; page == 0 || options.Continue != ""; page++ {
				list, err := client.CoreV1().Pods("").List(t.Context(), options)
				if err != nil {
					t.Fatal(err)
				}
				for _, pod := range list.Items {
					got[pod.Name] = pod.ResourceVersion
				}
				pods.change(count)
				options.Continue = list.Continue
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the pages differ from the pods at the version of the first one (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHandler_BothEncodingsHaveTheSamePods(t *testing.T) {
	t.Parallel()
	var lists []corev1.PodList
	for _, mediaType := range mediaTypes {
		_, client := startClient(t, mediaType)
		list, err := client.CoreV1().Pods(NamespaceName(7)).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, *list)
	}
	if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
		t.Errorf("protobuf and JSON differ (-protobuf +JSON):\n%s", diff)
	}
	if got := len(lists[0].Items); got != count/Namespaces {
		t.Fatalf("the namespace has %d pods, want %d", got, count/Namespaces)
	}
	if pod := lists[0].Items[0]; pod.Namespace != NamespaceName(7) || pod.Status.Phase != corev1.PodRunning ||
		len(pod.Annotations[ChangedAnnotation]) != ChangedDigits || len(pod.ManagedFields) != 2 {
		t.Errorf("the first pod of namespace 7 is %+v", pod)
	}
}

func TestHandler_ServesMetadata(t *testing.T) {
	t.Parallel()
	pods, config := start(t, runtime.ContentTypeProtobuf)
	client, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || pods.versions()[list.Items[0].Name] != list.Items[0].ResourceVersion {
		t.Errorf("the list has %d items, the first one is %v", len(list.Items), list.Items)
	}
}

func TestHandler_RejectsVersions(t *testing.T) {
	t.Parallel()
	pods, client := startClient(t, runtime.ContentTypeProtobuf)
	first := strconv.FormatUint(pods.version, 10)
	pods.change(historyLength)
	for name, test := range map[string]struct {
		options metav1.ListOptions
		want    func(error) bool
	}{
		"before the history": {metav1.ListOptions{ResourceVersion: first}, apierrors.IsResourceExpired},
		"in the future": {
			metav1.ListOptions{ResourceVersion: strconv.FormatUint(pods.version+1, 10)}, apierrors.IsTimeout,
		},
		"not a version":   {metav1.ListOptions{ResourceVersion: "latest"}, apierrors.IsBadRequest},
		"with a selector": {metav1.ListOptions{ResourceVersion: first, LabelSelector: "a=b"}, apierrors.IsBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := client.CoreV1().Pods("").Watch(t.Context(), test.options); !test.want(err) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestHandler_EndsAWatchWithABookmark(t *testing.T) {
	t.Parallel()
	pods, client := startClient(t, runtime.ContentTypeProtobuf)
	version, seconds := strconv.FormatUint(pods.version, 10), int64(2)
	events, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{
		ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	event := <-events.ResultChan()
	if pod, ok := event.Object.(*corev1.Pod); !ok || event.Type != watch.Bookmark || pod.ResourceVersion != version {
		t.Errorf("the event is %+v, want a bookmark at %s", event, version)
	}
	if event, open := <-events.ResultChan(); open {
		t.Errorf("the watch has the event %+v after its timeout", event)
	}
}

// TestHandler_ExpiresWatches expires an open watch, and starts another one.
func TestHandler_ExpiresWatches(t *testing.T) {
	t.Parallel()
	pods, err := NewPods(count)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := NewHandler(pods)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	options := metav1.ListOptions{ResourceVersion: strconv.FormatUint(pods.version, 10)}
	expired, err := client.CoreV1().Pods("").Watch(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer expired.Stop()
	handler.expire()
	if event := <-expired.ResultChan(); event.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		t.Errorf("the open watch has the event %+v", event)
	}
	later, err := client.CoreV1().Pods("").Watch(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer later.Stop()
	pods.change(1)
	if event := <-later.ResultChan(); event.Type != watch.Modified {
		t.Errorf("the later watch has the event %+v", event)
	}
}
