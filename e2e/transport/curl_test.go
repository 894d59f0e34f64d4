package transport_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestTransport_CurlListsByPOSTAndGET(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	plain, certificate := harness.StartService(t, kit.Cluster(t).Kubeconfig), kit.NewCertificate(t)
	encrypted := kit.StartTLSService(t, kit.Cluster(t), certificate)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	write.Create("one", kit.Labels{"tier": "backend"})
	write.Create("other", kit.Labels{"tier": "frontend"})
	message := fmt.Sprintf(`{"resource":"configmaps","namespace":%q,"labelSelector":"tier=backend"}`, namespace)

	for name, curl := range map[string]curl{
		"by POST":          postJSON(plain, "List", message),
		"by GET":           getJSON(plain, "List", message),
		"by POST over TLS": append(postJSON(encrypted, "List", message), "--cacert", certificate.CertFile),
		"by GET over TLS":  append(getJSON(encrypted, "List", message), "--cacert", certificate.CertFile),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, answer := curl.run(kit.Deadline(t), t)
			if code != http.StatusOK {
				t.Fatalf("status %d: %s", code, answer)
			}
			var list struct {
				Objects []struct {
					Name   string
					Struct struct{ Data map[string]string }
				}
			}
			answer.read(t, &list)
			if len(list.Objects) != 1 || list.Objects[0].Name != "one" || list.Objects[0].Struct.Data["key"] != "value" {
				t.Errorf("response %s", answer)
			}
		})
	}
}

func TestTransport_CurlPatchesWithAValue(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.CreateDeployment(ctx, t, namespace, "web", 1)

	code, answer := postJSON(service, "Patch", scalePatch(namespace, 6)).run(ctx, t)
	if code != http.StatusOK {
		t.Fatalf("status %d: %s", code, answer)
	}
	var patched struct {
		Object struct{ Struct map[string]any }
	}
	answer.read(t, &patched)
	kit.WantField(t, patched.Object.Struct, float64(6), "spec", "replicas")
	if now := kit.GetDeployment(ctx, t, namespace, "web"); *now.Spec.Replicas != 6 {
		t.Errorf("the cluster has %d replicas, want 6", *now.Spec.Replicas)
	}
}

func TestTransport_CurlReceivesErrors(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.CreateDeployment(ctx, t, namespace, "web", 1)
	for name, test := range map[string]struct {
		curl   curl
		status int
		code   string
		reason string
		words  []string
	}{
		"a missing object": {
			curl:   postJSON(service, "Get", fmt.Sprintf(`{"resource":"deploy","namespace":%q,"name":"nobody"}`, namespace)),
			status: http.StatusNotFound, code: "not_found", reason: "NotFound", words: []string{"nobody"},
		},
		"a value that the API server rejects": {
			curl:   postJSON(service, "Patch", scalePatch(namespace, -1)),
			status: http.StatusBadRequest, code: "invalid_argument", reason: "Invalid", words: []string{"spec.replicas", "-1"},
		},
		"an invalid selector": {
			curl:   getJSON(service, "List", `{"resource":"deploy","labelSelector":"app in ("}`),
			status: http.StatusBadRequest, code: "invalid_argument", reason: "BadRequest", words: []string{"app in ("},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, answer := test.curl.run(kit.Deadline(t), t)
			if status != test.status {
				t.Errorf("HTTP status %d, want %d", status, test.status)
			}
			answer.wantFailure(t, test.code, test.reason, test.words...)
		})
	}
}

func TestTransport_GETChangesNothing(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	before := kit.CreateDeployment(ctx, t, namespace, "web", 1)
	if code, answer := getJSON(service, "Patch", scalePatch(namespace, 6)).run(ctx, t); code != http.StatusMethodNotAllowed {
		t.Errorf("status %d: %s", code, answer)
	}
	if now := kit.GetDeployment(ctx, t, namespace, "web"); *now.Spec.Replicas != *before.Spec.Replicas {
		t.Errorf("the cluster has %d replicas now", *now.Spec.Replicas)
	}
}

func scalePatch(namespace string, replicas int) string {
	return fmt.Sprintf(`{"resource":"deploy","namespace":%q,"name":"web","type":"PATCH_TYPE_MERGE","value":{"spec":{"replicas":%d}}}`,
		namespace, replicas)
}

// curl holds the arguments of curl.
type curl []string

func postJSON(service *harness.Service, method, message string) curl {
	return curl{methodURL(service, method), "-H", "content-type: application/json", "-d", message}
}

func getJSON(service *harness.Service, method, message string) curl {
	return curl{methodURL(service, method), "--get", "-H", "authorization: Bearer any",
		"--data-urlencode", "connect=v1", "--data-urlencode", "encoding=json", "--data-urlencode", "message=" + message}
}

func methodURL(service *harness.Service, method string) string {
	return service.Address + "/kubeconnect.v1.ResourceService/" + method
}

// run returns the HTTP status and the body of the response.
func (c curl) run(ctx context.Context, t *testing.T) (status int, answer jsonAnswer) {
	t.Helper()
	args := append([]string{"--silent", "--show-error", "--noproxy", "*", "--write-out", "\n%{http_code}"}, c...)
	printed := output(t, exec.CommandContext(ctx, "curl", args...))
	end := strings.LastIndexByte(printed, '\n')
	status, err := strconv.Atoi(printed[end+1:])
	if err != nil {
		t.Fatal(err)
	}
	return status, jsonAnswer(printed[:end])
}

// jsonAnswer is the body of a response.
type jsonAnswer string

func (a jsonAnswer) read(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a), into); err != nil {
		t.Fatalf("%v: %s", err, a)
	}
}

// WantFailure fails the test unless the body is an error with this code, and its debug detail a
// status with this reason and these words.
func (a jsonAnswer) wantFailure(t *testing.T, code, reason string, words ...string) {
	t.Helper()
	var failure struct {
		Code, Message string
		Details       []struct {
			Type  string
			Debug map[string]any
		}
	}
	a.read(t, &failure)
	if failure.Code != code {
		t.Errorf("code %q, want %q", failure.Code, code)
	}
	kit.WantWords(t, failure.Message, words...)
	if len(failure.Details) != 1 || failure.Details[0].Type != "kubeconnect.v1.Status" {
		t.Fatalf("the details are not exactly one Status: %s", a)
	}
	debug := failure.Details[0].Debug
	if got, _, _ := unstructured.NestedString(debug, "reason"); got != reason {
		t.Errorf("reason %q, want %q", got, reason)
	}
	message, _, _ := unstructured.NestedString(debug, "message")
	kit.WantWords(t, message, words...)
}
