package tracing

import (
	"testing"

	"go.opentelemetry.io/otel/trace"
)

// TestPathTemplate_HasNoNames has a path for each kind of request. Their names must not leave the
// process.
func TestPathTemplate_HasNoNames(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/api/v1/pods":                                         "/api/v1/pods",
		"/api/v1/nodes/NAME":                                   "/api/v1/nodes/{name}",
		"/api/v1/nodes/NAME/proxy/metrics/NAME":                "/api/v1/nodes/{name}/proxy",
		"/api/v1/namespaces":                                   "/api/v1/namespaces",
		"/api/v1/namespaces/NAME":                              "/api/v1/namespaces/{name}",
		"/api/v1/namespaces/NAME/status":                       "/api/v1/namespaces/{name}/status",
		"/api/v1/namespaces/NAME/finalize":                     "/api/v1/namespaces/{name}/finalize",
		"/api/v1/namespaces/NAME/pods":                         "/api/v1/namespaces/{namespace}/pods",
		"/api/v1/namespaces/NAME/pods/NAME":                    "/api/v1/namespaces/{namespace}/pods/{name}",
		"/api/v1/namespaces/NAME/pods/NAME/log":                "/api/v1/namespaces/{namespace}/pods/{name}/log",
		"/api/v1/namespaces/NAME/services/NAME/proxy/NAME":     "/api/v1/namespaces/{namespace}/services/{name}/proxy",
		"/api/v1/namespaces/NAME/pods/api":                     "/api/v1/namespaces/{namespace}/pods/{name}",
		"/apis/apps/v1/deployments":                            "/apis/apps/v1/deployments",
		"/apis/apps/v1/namespaces/NAME/deployments/NAME/scale": "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale",
		"/apis/apiregistration.k8s.io/v1/apiservices/NAME":     "/apis/apiregistration.k8s.io/v1/apiservices/{name}",
		"/prefix/api/v1/namespaces/NAME/secrets/NAME":          "/prefix/api/v1/namespaces/{namespace}/secrets/{name}",
		"/apis/apps/v1":                                        "/apis/apps/v1",
		"/api":                                                 "/api",
		"/":                                                    "/",
		"":                                                     "/",
		"/version":                                             "/version",
		"/openid/v1/jwks":                                      "/openid",
		"/apis/metrics.k8s.io/v1beta1/namespaces/NAME/pods/NAME":      "/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods/{name}",
		"/apis/authorization.k8s.io/v1/namespaces/NAME/localsubjects": "/apis/authorization.k8s.io/v1/namespaces/{namespace}/localsubjects",
	} {
		if got := pathTemplate(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// TestSpans_CostNothingWithoutATrace makes what a call does when tracing is off.
func TestSpans_CostNothingWithoutATrace(t *testing.T) {
	ctx := t.Context()
	var begun trace.Span
	if allocations := testing.AllocsPerRun(100, func() {
		var waiting Wait
		waiting.Begin(ctx, "wait")
		waiting.End()
		_, begun = Begin(ctx, "span")
		Note(ctx, "event")
		End(begun, nil)
		_ = Continue(ctx, ctx)
	}); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
	if begun.IsRecording() {
		t.Error("a span without a trace is recorded")
	}
}
