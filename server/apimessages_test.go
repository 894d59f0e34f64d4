package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

func TestClarified_NamesObjectAndFields(t *testing.T) {
	widget := target{resource: widgets, namespace: "default", name: "a"}
	ofType := func(kind types.PatchType) change { return patch{kind: kind} }
	answer := func(code int32, reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{
			Causes: []metav1.StatusCause{{Field: "patch"}},
		}}}
	}
	for name, test := range map[string]struct {
		err     error
		change  change
		code    connect.Code
		message string
		fields  string
	}{
		"an object without a name": {
			answer(422, "Invalid", ` "" is invalid: patch: Invalid value: "x": wrong`), ofType(types.MergePatchType),
			connect.CodeInvalidArgument, `Widget.example.com "a" is invalid: patch: Invalid value: "x": wrong`, "patch",
		},
		"an apply patch with a wrong type": {
			answer(500, "", "failed to create typed patch object (default/a; example.com/v1, Kind=Widget): .spec.size: expected numeric (int or float), got string"),
			ofType(types.ApplyYAMLPatchType),
			connect.CodeInvalidArgument, `Widget.example.com "a" is invalid: .spec.size: expected numeric (int or float), got string`, "spec.size",
		},
		"an apply patch with several wrong types": {
			answer(500, "", "failed to create typed patch object (default/a; example.com/v1, Kind=Widget): errors:\n  .a: expected list, got &{x}\n  .b.c: expected string, got &value.valueUnstructured{Value:1}"),
			ofType(types.ApplyYAMLPatchType),
			connect.CodeInvalidArgument, `Widget.example.com "a" is invalid: .a: expected list, got x; .b.c: expected string, got 1`, "a b.c",
		},
		"an apply patch without a kind": {
			answer(400, "BadRequest", "invalid object type: /, Kind="), ofType(types.ApplyYAMLPatchType),
			connect.CodeInvalidArgument, `the patch is not for widgets.example.com: with PATCH_TYPE_APPLY it must have apiVersion "example.com/v1" and kind "Widget"`, "",
		},
		"a JSON patch that cannot be applied": {
			answer(422, "Invalid", wordlessJSONPatch), ofType(types.JSONPatchType),
			connect.CodeInvalidArgument, `Widget.example.com "a" is invalid: the JSON patch cannot be applied: a "test" failed, or a path is not there; read the object again and create the patch for its current state`, "",
		},
		"a strategic merge patch": {
			answer(415, "UnsupportedMediaType", "x"), ofType(types.StrategicMergePatchType),
			connect.CodeInvalidArgument, "widgets.example.com do not support strategic merge patches, use PATCH_TYPE_MERGE, PATCH_TYPE_JSON or PATCH_TYPE_APPLY: x", "patch",
		},
		"an error of the API server's own": {
			answer(500, "InternalError", "failed to create typed live object: x"), ofType(types.ApplyYAMLPatchType),
			connect.CodeInternal, "failed to create typed live object: x", "patch",
		},
		"the same words about another change": {
			answer(500, "", "failed to create typed patch object (x): .a: y"), creation{},
			connect.CodeInternal, "failed to create typed patch object (x): .a: y", "patch",
		},
	} {
		t.Run(name, func(t *testing.T) {
			mapped := connectError(clarified(test.err, widget, test.change))
			detail := detailOf(t, mapped)
			if connect.CodeOf(mapped) != test.code || detail.GetMessage() != test.message {
				t.Errorf("returned %s: %q, want %s: %q", connect.CodeOf(mapped), detail.GetMessage(), test.code, test.message)
			}
			var fields []string
			for _, cause := range detail.GetCauses() {
				fields = append(fields, cause.GetField())
			}
			if got := strings.Join(fields, " "); got != test.fields {
				t.Errorf("the causes name %q, want %q", got, test.fields)
			}
		})
	}
}

// TestWithoutAddresses_SaysHowAConnectionFailed expects no address in the error for callers, and
// the address in the log.
func TestWithoutAddresses_SaysHowAConnectionFailed(t *testing.T) {
	const address = "10.1.2.3:6443"
	for name, test := range map[string]struct {
		err   error
		words string
	}{
		"refused":     {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "the connection is refused"},
		"not trusted": {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "its certificate is not trusted"},
		"plain text":  {tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "it does not speak TLS"},
		"also plain":  {errors.New("http: server gave HTTP response to HTTPS client"), "it does not speak TLS"},
		"no name":     {&net.DNSError{Err: "no such host", Name: "api.internal"}, "its name cannot be resolved"},
		"slow":        {&net.DNSError{Err: "x", IsTimeout: true}, "its name cannot be resolved"},
		"timeout":     {&url.Error{Op: "Get", URL: address, Err: timeoutError{}}, "it does not respond in time"},
		"cut":         {errors.New("EOF"), "the connection fails"},
	} {
		t.Run(name, func(t *testing.T) {
			var written strings.Builder
			before := slog.Default()
			slog.SetDefault(slog.New(slog.NewTextHandler(&written, nil)))
			defer slog.SetDefault(before)
			unreachableLog = pacedLog{interval: unreachableLog.interval}
			err := fmt.Errorf("get pods: %w", &informerhub.UnavailableError{Host: address, Err: fmt.Errorf("Get %q: %w", address, test.err)})
			for range 3 {
				text := connectError(err).Error()
				if strings.Contains(text, "10.1.2.3") || strings.Contains(text, "internal") || !strings.Contains(text, test.words+"; try again") {
					t.Errorf("the caller gets %q", text)
				}
			}
			if lines := strings.Count(written.String(), "\n"); lines != 1 || !strings.Contains(written.String(), address) {
				t.Errorf("the log has %d lines: %s", lines, written.String())
			}
		})
	}
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// TestGetLogs_UnreachableKubeletIsUnavailable has the API server respond as it does for a kubelet
// that does not listen.
func TestGetLogs_UnreachableKubeletIsUnavailable(t *testing.T) {
	api := podsAPI()
	api.log = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,"message":"Get \"https://10.1.2.3:10250/containerLogs/default/a/c\": dial tcp 10.1.2.3:10250: connect: connection refused"}`))
	})
	s := newService(t, api, auth.KubeconfigUser{})
	err := openLog(t, s, &kubeconnectv1.GetLogsRequest{Namespace: "default", Name: "a"}).end()
	if connect.CodeOf(err) != connect.CodeUnavailable || detailOf(t, err).GetReason() != "ServiceUnavailable" ||
		strings.Contains(err.Error(), "10.1.2.3") || !strings.Contains(err.Error(), "kubelet") {
		t.Errorf("the error is %v", err)
	}
}

// TestManifest_SaysWhichFieldIsWrong expects no Go types in the errors for callers.
func TestManifest_SaysWhichFieldIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"metadata":"x"}`:        "metadata has the type string, and must be an object",
		`{"metadata":{"name":1}}`: "metadata.name has the type number, and must be a string",
		"metadata: {name: [1]}":   "metadata.name has the type array, and must be a string",
		"- a":                     "it has the type array, and must be an object",
		`{"metadata":{"uid":{}}}`: "metadata.uid has the type object, and must be a string",
	} {
		_, err := manifestOfData([]byte(text))
		if err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestMeaningOf_NamesTLSErrors has the service use TLS with an API server that does not.
func TestMeaningOf_NamesTLSErrors(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	_, err := http.Get("https" + strings.TrimPrefix(plain.URL, "http"))
	if got := meaningOf(err); got != "it does not speak TLS" {
		t.Errorf("%v means %q", err, got)
	}
	secret := httptest.NewTLSServer(http.NotFoundHandler())
	defer secret.Close()
	_, err = http.Get(secret.URL)
	if got := meaningOf(err); got != "its certificate is not trusted" {
		t.Errorf("%v means %q", err, got)
	}
}
