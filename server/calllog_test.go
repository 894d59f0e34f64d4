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
	for name, value := range map[string]string{"Authorization": c.token, edge.RequestIDHeader: c.id} {
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
	return answer.Header.Get(edge.RequestIDHeader)
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
	api := podsAPI()
	api.change = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity,
			Message: fmt.Sprintf("Pod is invalid: %s", body),
		})
	})
	return newServiceOf(t, api, Config{
		Authenticator: authenticator, Authorizer: everything(), Recheck: time.Hour, LogSample: 0, Limits: edge.Limits{},
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
	request.Header.Set(edge.RequestIDHeader, "stream-1")
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
