package wire_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

// service is one of the services that are called, by its flags.
type service string

const (
	open     service = ""         // without authentication
	guarded  service = "guarded"  // with authentication, and with pages of listedOrigin
	limited  service = "limited"  // with low limits for each caller
	compress service = "compress" // with compressed responses
	closing  service = "closing"  // shut down while a stream is open
	ending   service = "ending"   // shut down while a watch of health is open
)

// listedOrigin is the origin of a page that the operator allows.
const listedOrigin = "https://app.example.com"

var flags = map[service][]string{
	open:     nil,
	guarded:  {"--auth", "cluster", "--cors-origin", listedOrigin},
	limited:  {"--auth", "cluster", "--caller-max-streams", "1", "--caller-request-rate", "1", "--caller-request-burst", "100"},
	compress: {"--compress", "gzip"},
	closing:  nil,
	ending:   nil,
}

// wire is the namespace of all objects. Its ConfigMaps one, two and three have the label app=wire.
const wire = "wire"

// world is the cluster, its objects and the services.
type world struct {
	ctx      context.Context
	t        *testing.T
	write    kit.ConfigMaps
	services map[service]*harness.Service
	clients  map[version]*http.Client
	values   map[string]string // of placeholders
	stopping sync.WaitGroup
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx := kit.Deadline(t)
	kit.CreateNamespace(ctx, t, wire)
	w := &world{
		ctx: ctx, t: t, write: kit.ConfigMapsIn(ctx, t, kit.Cluster(t), wire),
		services: map[service]*harness.Service{},
		clients:  map[version]*http.Client{http1: harness.HTTP1(t), http2: harness.HTTP2(t)},
		values:   map[string]string{},
	}
	for _, client := range w.clients {
		client.Transport.(*http.Transport).DisableCompression = true // of requests that do not ask for it
	}
	t.Cleanup(w.stopping.Wait)
	w.createObjects()
	w.startServices()
	return w
}

func (w *world) createObjects() {
	for _, object := range []struct{ name, tier string }{{"one", "web"}, {"two", "db"}, {"three", "web"}} {
		created := w.write.Create(object.name, kit.Labels{"app": "wire", "tier": object.tier})
		w.values["<uid of "+object.name+">"] = string(created.UID)
	}
	w.values["<uid of touched>"] = string(w.write.Create("touched", nil).UID)
	large := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "large"}, Data: map[string]string{"key": strings.Repeat("wire ", 1000)},
	}
	if _, err := w.write.API.Create(w.ctx, large, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	jane, joe := kit.NewAccount(w.ctx, w.t, wire, "jane"), kit.NewAccount(w.ctx, w.t, wire, "joe")
	jane.GrantIn(wire, "reader", kit.Rule("configmaps", "get", "list", "watch"))
	w.values["<token of jane>"], w.values["<token of joe>"] = jane.Token(), joe.Token()
	node := kubelet.Start(w.t, kit.Cluster(w.t).Client)
	kit.StartPod(w.ctx, w.t, node, wire, "logger", "main")
	log := &kubelet.Log{}
	for second, line := range []string{"first line\n", "second line\n"} {
		log.WriteAt(time.Date(2020, 1, 1, 0, 0, second, 0, time.UTC), "Stdout", line)
	}
	log.End()
	node.Answer(wire, "logger", "main", log)
}

// startServices starts the services, and blocks until each of them serves the objects.
func (w *world) startServices() {
	for name, flags := range flags {
		w.services[name] = harness.StartService(w.t, kit.Cluster(w.t).Kubeconfig, flags...)
	}
	for name, service := range w.services {
		kit.Eventually(w.ctx, w.t, "the service "+string(name)+" serves the objects", func() error {
			return w.has(service, `{"resource":"configmaps","namespace":"wire","fields":["metadata.name"]}`, "one", "two", "three", "large")
		})
	}
	for _, name := range []service{open, compress} {
		kit.Eventually(w.ctx, w.t, "the service serves the pod", func() error {
			return w.has(w.services[name], `{"resource":"pods","namespace":"wire","fields":["metadata.name"]}`, "logger")
		})
	}
}

// has returns an error unless a list of a service contains the objects.
func (w *world) has(service *harness.Service, list string, names ...string) error {
	request, err := http.NewRequestWithContext(w.ctx, http.MethodPost, service.Address+pathOf("ResourceService/List"), strings.NewReader(list))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+w.values["<token of jane>"])
	response, err := w.clients[http1].Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.Contains(string(content), fmt.Sprintf("%q", name)) {
			return fmt.Errorf("%s: %s", response.Status, content)
		}
	}
	return nil
}

// stop begins to shut a service down.
func (w *world) stop(name service) {
	w.stopping.Go(func() {
		if err := w.services[name].Stop(); err != nil {
			w.t.Errorf("the service %s exited: %v", name, err)
		}
	})
}
