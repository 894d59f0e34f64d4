package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// sent makes two requests and returns their headers.
func sent(t *testing.T, identity Identity) []http.Header {
	t.Helper()
	headers, _ := sentBy(t, identity, func(*ClientFactory) {})
	return headers
}

// sentBy makes two requests by a factory that was changed, and returns their headers and errors.
func sentBy(t *testing.T, identity Identity, change func(*ClientFactory)) (headers []http.Header, errs [2]error) {
	t.Helper()
	var mu sync.Mutex // guards headers
	config := &rest.Config{Host: "http://api.example", BearerToken: "service", Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		headers = append(headers, r.Header.Clone())
		return respond(&apierrors.NewNotFound(schema.GroupResource{}, "").ErrStatus), nil
	})}
	factory, err := NewClientFactory(config, nil)
	must(t, err)
	change(factory)
	errs = call(t, factory.For(identity))
	return headers, errs
}

// respond is the API server's response.
func respond(answer any) *http.Response {
	recorder := httptest.NewRecorder()
	recorder.Header().Set("Content-Type", "application/json")
	if status, ok := answer.(*metav1.Status); ok {
		recorder.WriteHeader(int(status.Code))
	}
	_ = json.NewEncoder(recorder).Encode(answer)
	return recorder.Result()
}

// call makes one request for a built-in kind, and one for any other.
func call(t *testing.T, clients *Clients) (errs [2]error) {
	t.Helper()
	_, errs[0] = clients.Typed.CoreV1().Pods("a").Get(t.Context(), "b", metav1.GetOptions{})
	errs[1] = clients.Typed.CoreV1().RESTClient().Get().AbsPath("/apis/example.com/v1/x/b").Do(t.Context()).Error()
	return errs
}

func TestClientFactory_SendsRequestsAsTheCaller(t *testing.T) {
	for name, test := range map[string]struct {
		identity Identity
		want     map[string][]string
	}{
		"the kubeconfig's user": {Identity{own: true}, map[string][]string{"Authorization": {"Bearer service"}}},
		"by impersonation": {
			Identity{Username: "alice", UID: "1", Groups: []string{"a", "b"}, Extra: map[string][]string{"example.com/K": {"v", "w"}}},
			map[string][]string{
				"Authorization": {"Bearer service"}, "Impersonate-User": {"alice"}, "Impersonate-Uid": {"1"},
				"Impersonate-Group": {"a", "b"}, "Impersonate-Extra-Example.com%2fk": {"v", "w"},
			},
		},
		"by the caller's token": {
			Identity{Username: "alice", Groups: []string{"a"}, token: func() string { return "alices" }},
			map[string][]string{"Authorization": {"Bearer alices"}},
		},
		"nobody":                             {Identity{}, nil},
		"nobody with groups":                 {Identity{Groups: []string{"system:masters"}}, nil},
		"by a token that the caller has not": {Identity{Username: "alice", token: func() string { return "" }}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			headers := sent(t, test.identity)
			if want := 2; test.want != nil && len(headers) != want || test.want == nil && headers != nil {
				t.Fatalf("got %d requests", len(headers))
			}
			for _, header := range headers {
				for name := range header {
					if !impersonates(name) && name != "Authorization" {
						delete(header, name)
					}
				}
				if fmt.Sprint(map[string][]string(header)) != fmt.Sprint(test.want) {
					t.Errorf("sends %v, want %v", header, test.want)
				}
			}
		})
	}
}

func TestClientFactory_ReturnsWhyNothingIsSent(t *testing.T) {
	factory, err := NewClientFactory(&rest.Config{Host: "http://api.example"}, nil)
	must(t, err)
	for _, err := range call(t, factory.For(Identity{})) {
		if !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("without a user, the error is %v", err)
		}
	}
	for _, err := range call(t, factory.For(Identity{Username: "alice", token: func() string { return "" }})) {
		if !apierrors.IsForbidden(err) {
			t.Errorf("without a token, the error is %v", err)
		}
	}
}

func TestClientFactory_RequestsMetadataWithoutManagedFields(t *testing.T) {
	var accepts string
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { accepts = r.Header.Get("Accept") }))
	defer api.Close()
	factory, err := NewClientFactory(&rest.Config{Host: api.URL}, nil)
	must(t, err)
	_, _ = factory.ServiceMetadata().Resource(corev1.SchemeGroupVersion.WithResource("pods")).List(t.Context(), metav1.ListOptions{})
	if want := "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1;drop=metadata.managedFields,"; !strings.HasPrefix(accepts, want) {
		t.Errorf("it accepts %q", accepts)
	}
}

func TestStrippingTransport_RemovesCredentialsAndImpersonation(t *testing.T) {
	var header http.Header
	to := strippingTransport{transportFunc(func(r *http.Request) (*http.Response, error) { header = r.Header; return nil, nil })}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	request.Header = http.Header{
		"Authorization": {"Bearer x"}, "Impersonate-User": {"root"}, "Impersonate-Group": {"system:masters"},
		"impersonate-uid": {"1"}, "Impersonate-Extra-A": {"b"}, "Accept": {"*/*"},
	}
	_, _ = to.RoundTrip(request)
	if len(header) != 1 || len(request.Header) != 6 {
		t.Errorf("sends %v; the original request has %v", header, request.Header)
	}
}

func TestStripImpersonation_RemovesHeadersOfIncomingRequests(t *testing.T) {
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	request.Header = http.Header{"Authorization": {"Bearer x"}, "Impersonate-User": {"root"}, "IMPERSONATE-GROUP": {"a"}, "Impersonate": {"no"}}
	StripImpersonation(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if len(r.Header) != 2 {
			t.Errorf("%v was passed on", r.Header)
		}
	})).ServeHTTP(httptest.NewRecorder(), request)
}

func TestClientFactory_CachesClientsByIdentity(t *testing.T) {
	factory, err := NewClientFactory(&rest.Config{Host: "http://api.example"}, nil)
	must(t, err)
	with := func(token string) Identity { return Identity{Username: "a", token: func() string { return token }} }
	a := factory.For(Identity{Username: "a", Groups: []string{"x", "y"}})
	if factory.For(Identity{Username: "a", Groups: []string{"y", "x"}, Expires: time.Now()}) != a {
		t.Error("the same identity got other clients")
	}
	distinct := map[*Clients]bool{}
	for _, identity := range []Identity{{Username: "a"}, {Username: "a", UID: "1"}, with(""), with("1"), with("2"), {own: true}, {}} {
		distinct[factory.For(identity)] = true
	}
	if len(distinct) != 7 {
		t.Errorf("%d clients for 7 identities", len(distinct))
	}
	if factory.For(Identity{own: true}) != factory.ForService() {
		t.Error("the kubeconfig's user got other clients than the service's")
	}
	for i := range 2 * maxClients {
		factory.For(Identity{Username: fmt.Sprint(i)})
	}
	if kept := len(factory.cached.Keys()); kept != maxClients {
		t.Errorf("%d entries are cached", kept)
	}
}

func TestClientFactory_WrapsEveryRequest(t *testing.T) {
	api := httptest.NewServer(http.NotFoundHandler())
	defer api.Close()
	config := &rest.Config{Host: api.URL}
	passed := 0
	factory, err := NewClientFactory(config, func(next http.RoundTripper) http.RoundTripper {
		return transportFunc(func(r *http.Request) (*http.Response, error) {
			passed++
			return next.RoundTrip(r)
		})
	})
	must(t, err)
	for _, identity := range []Identity{{own: true}, {Username: "a"}, {Username: "a", token: func() string { return "b" }}} {
		passed = 0
		call(t, factory.For(identity))
		if passed != 2 {
			t.Errorf("%d of 2 requests passed", passed)
		}
	}
	if config.QPS != 0 || config.WrapTransport != nil {
		t.Errorf("the caller's configuration was changed: %+v", config)
	}
}

func TestNewClientFactory_RejectsInvalidConfigurations(t *testing.T) {
	for name, config := range map[string]*rest.Config{
		"no such file": {Host: "https://localhost", TLSClientConfig: rest.TLSClientConfig{CAFile: "no-such-file"}},
		"no such host": {Host: "://"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewClientFactory(config, nil); err == nil {
				t.Error("no error")
			}
		})
	}
}

func BenchmarkClientsOfACaller(b *testing.B) {
	factory, err := NewClientFactory(&rest.Config{Host: "http://api.example"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	identity := Identity{Username: "a", Groups: []string{"a", "b", "c"}}
	b.Run("known", func(b *testing.B) {
		for b.Loop() {
			factory.For(identity)
		}
	})
	b.Run("new", func(b *testing.B) {
		var before, after runtime.MemStats
		kept := make([]*Clients, 0, 1000)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for b.Loop() {
			clients, _ := factory.newClients(factory.transportFor(identity, factory.over))
			kept = append(kept, clients)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(kept)), "B/held")
		runtime.KeepAlive(kept)
	})
}

// TestClientFactory_RejectsIdentitiesThatHeadersCannotCarry is about identities that an HTTP header
// cannot represent: over HTTP/1.1 white space at the ends is removed, and "admin " would be
// "admin".
func TestClientFactory_RejectsIdentitiesThatHeadersCannotCarry(t *testing.T) {
	extra := func(key string, values ...string) Identity {
		return Identity{Username: "alice", Extra: map[string][]string{key: values}}
	}
	for name, identity := range map[string]Identity{
		"a blank at the end of the name":  {Username: "admin "},
		"a blank at its beginning":        {Username: " admin"},
		"a tab":                           {Username: "admin\t"},
		"a line's end":                    {Username: "admin\n"},
		"a no-break space":                {Username: "admin\u00a0"},
		"an ideographic space":            {Username: "\u3000admin"},
		"a next line":                     {Username: "admin\u0085"},
		"a control character in the name": {Username: "ad\x00min"},
		"a DEL":                           {Username: "ad\x7fmin"},
		"no UTF-8":                        {Username: "admin\xa0"},
		"a UID":                           {Username: "alice", UID: "1 "},
		"a group":                         {Username: "alice", Groups: []string{"devs", "system:masters "}},
		"an extra's value":                extra("scopes", "full "),
		"an extra's second value":         extra("scopes", "full", "\ta"),
		"an extra's key":                  extra("scopes ", "full"),
		"a control character in a key":    extra("sco\x01pes", "full"),
		"extra keys that become one":      {Username: "alice", Extra: map[string][]string{"Scopes": {"a"}, "scopes": {"b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if headers := sent(t, identity); len(headers) != 0 {
				t.Errorf("sends %v", headers)
			}
			factory, err := NewClientFactory(&rest.Config{Host: "http://api.example"}, nil)
			must(t, err)
			for _, err := range call(t, factory.For(identity)) {
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "cannot impersonate this user") {
					t.Errorf("the error is %v", err)
				}
			}
		})
	}
}

// maxHeaderValues is the number of values of headers that a server of Go 1.27, and so an API server of Kubernetes 1.38, accepts by default.
const maxHeaderValues = 500

// countingHeaders responds as such a server does.
func countingHeaders(w http.ResponseWriter, r *http.Request) {
	values := 0
	for _, of := range r.Header {
		values += len(of)
	}
	if values > maxHeaderValues {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
		_, _ = w.Write([]byte("<h1>HTTP Error 431</h1><p>Request Header Field(s) Too Large</p>"))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b"}}`))
}

func TestClientFactory_ExplainsThatACallerIsInTooManyGroups(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(countingHeaders))
	defer api.Close()
	factory, err := NewClientFactory(&rest.Config{Host: api.URL}, nil)
	must(t, err)
	for groups, rejected := range map[int]bool{maxHeaderValues - 100: false, maxHeaderValues: true} {
		identity := Identity{Username: "alice"}
		for i := range groups {
			identity.Groups = append(identity.Groups, fmt.Sprint("group-", i))
		}
		for _, err := range call(t, factory.For(identity)) {
			explained := apierrors.IsForbidden(err) && strings.Contains(err.Error(), fmt.Sprintf("in %d groups", groups)) &&
				strings.Contains(err.Error(), "cannot impersonate this user")
			if explained != rejected || !rejected && err != nil {
				t.Errorf("in %d groups, the error is %v", groups, err)
			}
		}
	}
}

func TestClientFactory_ImpersonatesUnusualNamesExactly(t *testing.T) {
	for _, name := range []string{"jane doe", "CN=Jané,O=x", "дарья", "a\u200b", "voilà"} {
		headers := sent(t, Identity{Username: name, Groups: []string{name}, Extra: map[string][]string{"Example.com/K": {name, ""}}})
		if len(headers) != 2 {
			t.Fatalf("%d requests", len(headers))
		}
		for _, header := range headers {
			extra := header.Values("Impersonate-Extra-Example.com%2Fk")
			if header.Get("Impersonate-User") != name || header.Get("Impersonate-Group") != name || len(extra) != 2 || extra[0] != name {
				t.Errorf("%q is sent as %v", name, header)
			}
		}
	}
}

// TestClientFactory_ConstrainedImpersonation checks what is sent of each identity. The API server accepts a
// service account only by its name, and then takes its groups from the name.
func TestClientFactory_ConstrainedImpersonation(t *testing.T) {
	robot := func(change func(*Identity)) Identity {
		identity := Identity{
			Username: "system:serviceaccount:n:robot", UID: "1",
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"},
			Extra:  map[string][]string{"authentication.kubernetes.io/pod-name": {"p"}},
		}
		change(&identity)
		return identity
	}
	for name, test := range map[string]struct {
		identity Identity
		want     map[string][]string // nothing is sent if nil
		says     string
	}{
		"a user": {
			identity: Identity{Username: "alice", UID: "1", Groups: []string{"a"}, Extra: map[string][]string{"example.com/k": {"v"}}},
			want: map[string][]string{
				"Impersonate-User": {"alice"}, "Impersonate-Uid": {"1"}, "Impersonate-Group": {"a"}, "Impersonate-Extra-Example.com%2fk": {"v"},
			},
		},
		"a service account": {
			identity: robot(func(*Identity) {}), want: map[string][]string{"Impersonate-User": {"system:serviceaccount:n:robot"}},
		},
		"a service account with one more group": {
			identity: robot(func(i *Identity) { i.Groups = append(i.Groups, "admins") }), says: "groups other than",
		},
		"a service account with one group less": {
			identity: robot(func(i *Identity) { i.Groups = i.Groups[1:] }), says: "groups other than",
		},
		"a service account with scopes": {
			identity: robot(func(i *Identity) { i.Extra["scopes"] = []string{"read"} }), says: `the extra "scopes"`,
		},
		"a service account of a node that an authorizer looks at": {
			identity: robot(func(i *Identity) { i.Extra["authentication.kubernetes.io/node-name"] = []string{"x"} }),
			says:     `the extra "authentication.kubernetes.io/node-name"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			headers, errs := sentBy(t, test.identity, func(f *ClientFactory) { f.Constrain([]string{"authentication.kubernetes.io/node-name"}) })
			for _, err := range errs {
				if test.says != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.says)) {
					t.Errorf("the error is %v", err)
				}
			}
			if sends := len(headers) > 0; sends != (test.want != nil) {
				t.Fatalf("sends %v", headers)
			}
			for _, header := range headers {
				maps.DeleteFunc(header, func(name string, _ []string) bool { return !impersonates(name) })
				if fmt.Sprint(map[string][]string(header)) != fmt.Sprint(test.want) {
					t.Errorf("sends %v, want %v", header, test.want)
				}
			}
		})
	}
}

// TestClientFactory_FollowsNoRedirect uses an API server that redirects every request to another
// host. The credentials must not reach it.
func TestClientFactory_FollowsNoRedirect(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			var arrived atomic.Int64
			other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
			defer other.Close()
			var redirected atomic.Int64
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				redirected.Add(1)
				http.Redirect(w, r, other.URL+"/steal", status)
			}))
			defer api.Close()
			factory, err := NewClientFactory(&rest.Config{Host: api.URL, BearerToken: "service"}, nil)
			must(t, err)
			callers := []Identity{{own: true}, {Username: "alice"}, {Username: "alice", token: func() string { return "alices" }}}
			for _, caller := range callers {
				clients := factory.For(caller)
				for _, err := range call(t, clients) {
					if err == nil {
						t.Error("a redirect is returned as a response")
					}
				}
				answer, err := clients.HTTP.Get(api.URL)
				must(t, err)
				must(t, answer.Body.Close())
			}
			if want := int64(3 * len(callers)); redirected.Load() != want || arrived.Load() != 0 {
				t.Errorf("%d requests were made, want %d; %d reached the other host", redirected.Load(), want, arrived.Load())
			}
		})
	}
}
