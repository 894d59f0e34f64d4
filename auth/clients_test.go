package auth

import (
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestEveryRequestOfAClientPassesThroughTheWrap(t *testing.T) {
	api := httptest.NewServer(http.NotFoundHandler())
	defer api.Close()
	passed := 0
	config := &rest.Config{Host: api.URL}
	factory, err := NewClientFactory(config, func(next http.RoundTripper) http.RoundTripper {
		return transportFunc(func(r *http.Request) (*http.Response, error) {
			passed++
			return next.RoundTrip(r)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	clients := factory.For(Identity{})
	_, _ = clients.Typed.CoreV1().Pods("a").Get(t.Context(), "b", metav1.GetOptions{})
	_, _ = clients.Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "x"}).Get(t.Context(), "b", metav1.GetOptions{})
	if passed != 2 {
		t.Errorf("%d of 2 requests passed", passed)
	}
	if config.QPS != 0 || config.WrapTransport != nil {
		t.Errorf("the caller's configuration was changed: %+v", config)
	}
}

func TestAConfigurationThatCannotWorkIsAnError(t *testing.T) {
	for name, config := range map[string]*rest.Config{
		"no such file": {Host: "https://localhost", TLSClientConfig: rest.TLSClientConfig{CAFile: "no-such-file"}},
		"no such host": {Host: "://"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewClientFactory(config, nil); err == nil {
				t.Error("there is none")
			}
		})
	}
}
