package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// logLines are the lines that are logged during a test, as JSON.
type logLines chan string

func captureLines(t *testing.T) logLines {
	t.Helper()
	lines, before := make(logLines, 10_000), slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() { slog.SetDefault(before) })
	return lines
}

// Write implements io.Writer.
func (l logLines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// of blocks until the line of a request is written, and returns it as it is, and its values.
func (l logLines) of(id string) (line string, values map[string]any) {
	for line = range l {
		values = nil
		if json.Unmarshal([]byte(line), &values) == nil && values["request_id"] == id {
			return line, values
		}
	}
	panic("unreachable: the channel is never closed")
}

// loggedCall is a request whose log line is read.
type loggedCall struct {
	procedure, body, token, id string
}

// send sends a call of ResourceService as JSON, and returns the ID in the response.
func (s *service) send(t testing.TB, c loggedCall) (id string) {
	t.Helper()
	url := s.url + "/kubeconnect.v1.ResourceService/" + c.procedure
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range map[string]string{"Authorization": c.token, call.RequestIDHeader: c.id} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	answer, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.Header.Get(call.RequestIDHeader)
}

// newLoggedService returns a service whose callers are named by their tokens, and whose API server
// rejects each change with a message that quotes it.
func newLoggedService(t *testing.T) *service {
	t.Helper()
	authenticator := authenticatorFunc(func(header http.Header) (auth.Identity, error) {
		name, ok := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
		if !ok || strings.HasPrefix(name, "wrong") {
			return auth.Identity{}, auth.ErrUnauthenticated
		}
		return auth.Identity{Username: "jane"}, nil
	})
	api := servertest.PodsAPI()
	api.Change = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity,
			Message: fmt.Sprintf("Pod is invalid: %s", body),
		})
	})
	return newServiceOf(t, api, Config{
		Edge:       edge.Config{Authenticator: authenticator, LogSample: 0, Limits: gate.Limits{}},
		Authorizer: everything(), Recheck: time.Hour,
	})
}

func TestCallLog_HasALineForEachCall(t *testing.T) {
	lines, s := captureLines(t), newLoggedService(t)
	const patch = `{"resource":"pods","namespace":"default","name":"a","type":"PATCH_TYPE_MERGE","data":"e30=","dryRun":true}`
	for name, test := range map[string]struct {
		call loggedCall
		want map[string]any
	}{
		"a read": {
			loggedCall{"List", `{"resource":"Pod","namespace":"default"}`, "Bearer t", "read-1"},
			map[string]any{"level": "DEBUG", "msg": "call", "code": "ok", "caller": "jane", "procedure": "ResourceService/List",
				"resource": "pods.v1", "namespace": "default"},
		},
		"an object that does not exist": {
			loggedCall{"Get", `{"resource":"pods","namespace":"default","name":"none"}`, "Bearer t", "none-1"},
			map[string]any{"level": "INFO", "msg": "call failed", "code": "not_found", "reason": "NotFound", "name": "none"},
		},
		"a resource that does not exist": {
			loggedCall{"List", `{"resource":"nosuch"}`, "Bearer t", "none-2"},
			map[string]any{"level": "INFO", "msg": "call failed", "code": "not_found", "resource": "nosuch"},
		},
		"no credential": {
			loggedCall{"List", `{"resource":"pods"}`, "", "unknown-1"},
			map[string]any{"level": "INFO", "msg": "call failed", "code": "unauthenticated", "source": "127.0.0.1"},
		},
		"an invalid request": {
			loggedCall{"List", `{"nosuch":1}`, "Bearer t", "invalid-1"},
			map[string]any{"level": "INFO", "msg": "call failed", "code": "invalid_argument", "caller": "jane"},
		},
		"a change": {
			loggedCall{"Patch", patch, "Bearer t", "change-1"},
			map[string]any{"level": "INFO", "msg": "change", "code": "invalid_argument", "reason": "Invalid", "caller": "jane",
				"resource": "pods.v1", "namespace": "default", "name": "a", "dry_run": true},
		},
		"a change that is not sent": {
			loggedCall{"Patch", `{"resource":"pods","namespace":"default","type":"PATCH_TYPE_MERGE","data":"e30="}`, "Bearer t", "change-2"},
			map[string]any{"level": "INFO", "msg": "call failed", "code": "invalid_argument", "caller": "jane", "resource": "pods.v1"},
		},
		"a collection that is deleted": {
			loggedCall{"DeleteCollection", `{"resource":"pods","namespace":"default","labelSelector":"a=b"}`, "Bearer t", "change-3"},
			map[string]any{"level": "INFO", "msg": "change", "code": "invalid_argument", "reason": "Invalid", "caller": "jane"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s.send(t, test.call)
			line, values := lines.of(test.call.id)
			for key, want := range test.want {
				if values[key] != want {
					t.Errorf("%s is %v, want %v: %s", key, values[key], want, line)
				}
			}
		})
	}
}

func TestCallLog_StreamsHaveALineWhenTheyEnd(t *testing.T) {
	lines, s := captureLines(t), newLoggedService(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/kubeconnect.v1.ResourceService/Watch",
		strings.NewReader("\x00\x00\x00\x00\x12"+`{"resource":"Pod"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/grpc-web+json")
	request.Header.Set("Authorization", "Bearer t")
	request.Header.Set(call.RequestIDHeader, "stream-1")
	answer, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.ReadFull(answer.Body, make([]byte, 100)); err != nil { // of the snapshot
		t.Fatal(err)
	}
	cancel()
	line, values := lines.of("stream-1")
	objects, bytes := values["objects"], values["bytes"].(float64)
	if values["code"] != "canceled" || values["msg"] != "call" || values["resource"] != "pods.v1" || objects == nil || bytes < 100 {
		t.Errorf("%s", line)
	}
}

func TestRequestID_IsThatOfTheCallerOrANewOne(t *testing.T) {
	s := newLoggedService(t)
	list := loggedCall{procedure: "List", body: `{"resource":"pods"}`, token: "Bearer t"}
	for _, id := range []string{"a", "5f0c9a4e-1d2b-4c3d-8e9f-000000000001", "svc:1.2_3", strings.Repeat("x", 64)} {
		list.id = id
		if got := s.send(t, list); got != id {
			t.Errorf("the ID %q becomes %q", id, got)
		}
	}
	seen := map[string]bool{}
	for _, id := range []string{"", "two words", "a\tb", "ä", `"quoted"`, strings.Repeat("x", 65)} {
		list.id = id
		got := s.send(t, list)
		if got == "" || got == id || seen[got] {
			t.Errorf("the ID %q becomes %q", id, got)
		}
		seen[got] = true
	}
	if rejected := s.send(t, loggedCall{procedure: "List", body: `{}`, id: "mine"}); rejected != "mine" {
		t.Errorf("a rejected call has the ID %q", rejected)
	}
}

// TestCallLog_HasNoCredentialAndNothingOfAnObject sends secrets where callers send them.
func TestCallLog_HasNoCredentialAndNothingOfAnObject(t *testing.T) {
	lines, s := captureLines(t), newLoggedService(t)
	var secrets []string
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z0-9+/]{16,40}`).Draw(rt, "secret")
		encoded := base64.StdEncoding.EncodeToString([]byte(`{"data":{"password":"` + secret + `"}}`))
		procedure := rapid.SampledFrom([]string{"Patch", "Create", "Update", "List"}).Draw(rt, "procedure")
		body := rapid.SampledFrom([]string{
			`{"resource":"pods","namespace":"default","name":"a","type":"PATCH_TYPE_MERGE","data":"` + encoded + `"}`,
			`{"resource":"pods","namespace":"default","name":"a","data":"` + encoded + `"}`,
			`{"resource":"pods","namespace":"default","name":"a","value":{"kind":"Pod","data":{"password":"` + secret + `"}}}`,
			`{"data":"` + encoded,
		}).Draw(rt, "body")
		token := rapid.SampledFrom([]string{"Bearer " + secret, "Bearer wrong" + secret, "Basic " + secret}).Draw(rt, "token")
		secrets = append(secrets, secret, encoded)
		s.send(t, loggedCall{procedure, body, token, ""})
	})
	// One call is a change whatever was drawn.
	s.send(t, loggedCall{"Patch", `{"resource":"pods","namespace":"default","name":"a","type":"PATCH_TYPE_MERGE","data":"e30="}`, "Bearer t", ""})
	s.send(t, loggedCall{"List", `{"resource":"pods"}`, "Bearer t", "last"})
	changes := 0
	for line := range lines {
		for _, secret := range secrets {
			if strings.Contains(line, secret) {
				t.Fatalf("the log has the secret %s: %s", secret, line)
			}
		}
		if strings.Contains(line, `"msg":"change"`) {
			changes++
		}
		if strings.Contains(line, `"request_id":"last"`) {
			break
		}
	}
	if changes == 0 {
		t.Error("no change was logged")
	}
}

// quotedSecret is part of each object in the tests below, and of what the API server responds about it.
const quotedSecret = "hunter2-hunter2"

// newQuotingService returns a service whose API server rejects each change with a reason, and quotes it,
// as admission policies and webhooks can do with any reason.
func newQuotingService(t *testing.T, reason metav1.StatusReason, code int) *service {
	t.Helper()
	api := servertest.PodsAPI()
	api.Change = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			Status: metav1.StatusFailure, Reason: reason, Code: int32(code), //nolint:gosec // a status of HTTP
			Message: fmt.Sprintf("admission webhook denied the request: %s", body),
		})
	})
	return newServiceOf(t, api, Config{
		Edge:       edge.Config{Authenticator: auth.KubeconfigAuthenticator{}, LogSample: 0, Limits: gate.Limits{}},
		Authorizer: everything(), Recheck: time.Hour,
	})
}

func TestCallLog_ChangesQuoteNoObjectWhateverTheReason(t *testing.T) {
	const object = `{"metadata":{"name":"a"},"spec":{"x":"` + quotedSecret + `"}}`
	for reason, code := range map[metav1.StatusReason]int{
		metav1.StatusReasonForbidden: 403, metav1.StatusReasonUnauthorized: 401, metav1.StatusReasonConflict: 409,
		metav1.StatusReasonRequestEntityTooLarge: 413, metav1.StatusReasonInvalid: 422, metav1.StatusReasonInternalError: 500,
		metav1.StatusReasonTooManyRequests: 429, metav1.StatusReasonTimeout: 504, "Custom": 418, "": 400,
	} {
		t.Run(string(reason), func(t *testing.T) {
			lines, s := captureLines(t), newQuotingService(t, reason, code)
			for procedure, body := range map[string]string{
				"Create": `{"resource":"pods","namespace":"default","struct":` + object + `}`,
				"Update": `{"resource":"pods","namespace":"default","struct":` + object + `}`,
				"Patch":  `{"resource":"pods","namespace":"default","name":"a","type":"PATCH_TYPE_MERGE","value":` + object + `}`,
			} {
				s.send(t, loggedCall{procedure, body, "Bearer t", procedure})
				line, values := lines.of(procedure)
				if strings.Contains(line, quotedSecret) || values["msg"] != "change" || values["code"] == "ok" || values["name"] != "a" {
					t.Errorf("%s: %s", procedure, line)
				}
			}
		})
	}
}

func TestCallLog_ChangesNameWhatTheyChange(t *testing.T) {
	lines, s := captureLines(t), newQuotingService(t, metav1.StatusReasonConflict, http.StatusConflict)
	const manifest = `{"metadata":{"name":"a","namespace":"default"}}`
	for name, test := range map[string]struct {
		procedure, body string
		subresource     any
	}{
		"a manifest":                     {"Create", `{"resource":"pods","struct":` + manifest + `}`, nil},
		"a manifest as bytes":            {"Create", `{"resource":"pods","data":"` + base64.StdEncoding.EncodeToString([]byte(manifest)) + `"}`, nil},
		"an update":                      {"Update", `{"resource":"pods","struct":` + manifest + `}`, nil},
		"an update of a subresource":     {"Update", `{"resource":"pods","subresource":"status","struct":` + manifest + `}`, "status"},
		"the creation of a subresource":  {"Create", `{"resource":"pods","namespace":"default","name":"a","subresource":"eviction","struct":{}}`, "eviction"},
		"a patch of a subresource":       {"Patch", `{"resource":"pods","namespace":"default","name":"a","subresource":"status","type":"PATCH_TYPE_MERGE","value":{}}`, "status"},
		"the deletion of an object":      {"Delete", `{"resource":"pods","namespace":"default","name":"a"}`, nil},
		"a subresource with line breaks": {"Patch", `{"resource":"pods","namespace":"default","name":"a","subresource":"x\ny","type":"PATCH_TYPE_MERGE","value":{}}`, "x\ny"},
	} {
		t.Run(name, func(t *testing.T) {
			id := strings.ReplaceAll(name, " ", "-")
			s.send(t, loggedCall{test.procedure, test.body, "Bearer t", id})
			line, values := lines.of(id)
			if values["namespace"] != "default" || values["name"] != "a" || values["subresource"] != test.subresource || values["msg"] != "change" {
				t.Errorf("%s", line)
			}
		})
	}
}

// TestCallLog_UnreadableRequestsAreNoChanges sends requests that cannot be decoded.
func TestCallLog_UnreadableRequestsAreNoChanges(t *testing.T) {
	for name, test := range map[string]struct{ contentType, encoding, body, code string }{
		"protobuf":           {"application/proto", "", "\x0a\xff\xff", "invalid_argument"},
		"protobuf of gRPC":   {"application/grpc", "", "\x00\x00\x00\x00\x03\x0a\xff\xff", "invalid_argument"},
		"protobuf of Web":    {"application/grpc-web", "", "\x00\x00\x00\x00\x03\x0a\xff\xff", "invalid_argument"},
		"a message cut off":  {"application/grpc", "", "\x00\x00\x00\x01\x00\x0a", "invalid_argument"},
		"not compressed":     {"application/json", "gzip", "{}", "invalid_argument"},
		"JSON":               {"application/json", "", "{", "invalid_argument"},
		"more than is taken": {"application/json", "", strings.Repeat(" ", 5<<20), "resource_exhausted"},
	} {
		lines, s := captureLines(t), newLoggedService(t) // a caller has few lines with one code
		for _, procedure := range []string{"Create", "Delete", "DeleteCollection", "Get"} {
			id := strings.ReplaceAll(name, " ", "-") + "-" + procedure
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/kubeconnect.v1.ResourceService/"+procedure, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			for header, value := range map[string]string{
				"Content-Type": test.contentType, "Content-Encoding": test.encoding, "Authorization": "Bearer t", call.RequestIDHeader: id, "Te": "trailers",
			} {
				if value != "" {
					request.Header.Set(header, value)
				}
			}
			answer, err := s.http.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			if line, values := lines.of(id); values["msg"] != "call failed" || values["code"] != test.code || values["caller"] != "jane" {
				t.Errorf("%s", line)
			}
		}
	}
}
