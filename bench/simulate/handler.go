package simulate

import (
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
)

// Handler serves the API. In addition, GET /simulate/state returns a [State], POST /simulate/rate?to=N
// sets Rate, and POST /simulate/expire ends all watches with the error 410 (Expired), after which a
// client has to read all pods again.
type Handler struct {
	Rate atomic.Int64 // of changes, for a second

	pods      *Pods
	templates map[templateKey]template
	mux       *http.ServeMux

	openWatches, sentEvents, lists, snapshots atomic.Int64

	mu    sync.Mutex // guards ended
	ended chan struct{}
}

type templateKey struct{ protobuf, metadata bool }

// State is what the server has done so far.
type State struct {
	Events    uint64 `json:"events"`  // of changes that were made; a replacement has two
	Sent      int64  `json:"sent"`    // events sent to watches, without initial events
	Watches   int64  `json:"watches"` // open ones
	Lists     int64  `json:"lists"`
	Snapshots int64  `json:"snapshots"` // watches that began with all pods
}

// NewHandler returns a handler that serves pods.
func NewHandler(pods *Pods) (*Handler, error) {
	h := &Handler{
		pods: pods, templates: make(map[templateKey]template), mux: http.NewServeMux(), ended: make(chan struct{}),
	}
	for protobuf, e := range map[bool]encoding{true: protobufEncoding{}, false: jsonEncoding{}} {
		for _, metadata := range []bool{false, true} {
			made, err := newTemplate(e, metadata)
			if err != nil {
				return nil, err
			}
			h.templates[templateKey{protobuf, metadata}] = made
		}
	}
	h.route()
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

func (h *Handler) route() {
	for path, answer := range discovery() {
		h.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, answer) })
	}
	h.mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("[+]ping ok\nreadyz check passed\n"))
	})
	h.mux.HandleFunc("GET /api/v1/pods", h.servePods)
	h.mux.HandleFunc("GET /api/v1/namespaces/{namespace}/pods", h.servePods)
	h.mux.HandleFunc("GET /simulate/state", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, h.state())
	})
	h.mux.HandleFunc("POST /simulate/rate", h.setRate)
	h.mux.HandleFunc("POST /simulate/expire", func(http.ResponseWriter, *http.Request) { h.expire() })
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method,
			corev1.Resource("paths"), r.URL.Path, "the simulated API server does not serve this", 0, true))
	})
}

func (h *Handler) servePods(w http.ResponseWriter, r *http.Request) {
	requested, err := h.parse(r)
	switch {
	case err != nil:
	case requested.options.Watch:
		err = h.watch(w, r, requested)
	default:
		h.lists.Add(1)
		err = h.list(w, r, requested)
	}
	if err != nil {
		writeError(w, err)
	}
}

// watchStarted counts a watch, and returns the channel that is closed when all watches end.
func (h *Handler) watchStarted() <-chan struct{} {
	h.openWatches.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended
}

// expire ends all watches with an error.
func (h *Handler) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.ended)
	h.ended = make(chan struct{})
}

func (h *Handler) state() State {
	h.pods.mu.RLock()
	defer h.pods.mu.RUnlock()
	return State{
		Events: h.pods.last, Sent: h.sentEvents.Load(), Watches: h.openWatches.Load(),
		Lists: h.lists.Load(), Snapshots: h.snapshots.Load(),
	}
}

func (h *Handler) setRate(w http.ResponseWriter, r *http.Request) {
	rate, err := parseVersion(r.FormValue("to"))
	if err != nil {
		writeError(w, err)
		return
	}
	h.Rate.Store(int64(rate))
}

// discovery returns the answers to requests for what the server offers.
func discovery() map[string]any {
	return map[string]any{
		"/version": version.Info{Major: "1", Minor: "37", GitVersion: "v1.37.0-simulated", Platform: "linux/amd64"},
		"/api": metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"},
		},
		"/apis": metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{},
		},
		"/api/v1": metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1",
			APIResources: []metav1.APIResource{{
				Name: "pods", SingularName: "pod", Namespaced: true, Kind: "Pod",
				Verbs: metav1.Verbs{"list", "watch"}, ShortNames: []string{"po"}, Categories: []string{"all"},
			}},
		},
	}
}

func writeError(w http.ResponseWriter, err error) {
	status := asStatus(err)
	writeJSON(w, int(status.Code), status)
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}
