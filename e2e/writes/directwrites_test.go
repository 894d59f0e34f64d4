package writes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// through makes the write through the service.
func (f forwardedWrite) through(ctx context.Context, client kit.ResourceClient) outcome {
	switch f.verb {
	case "create":
		response, err := client.Create(ctx, &kubeconnectv1.CreateRequest{
			Resource: f.target.resource, Namespace: f.namespace, Name: f.name, Subresource: f.subresource, DryRun: true,
			Body: &kubeconnectv1.CreateRequest_Data{Data: []byte(f.body)}, FieldValidation: f.validation, Encoding: kit.EncodingJSON,
		})
		return outcomeOf(response.GetObject(), response.GetWarnings(), err)
	case "update":
		response, err := client.Update(ctx, &kubeconnectv1.UpdateRequest{
			Resource: f.target.resource, Namespace: f.namespace, Name: f.name, Subresource: f.subresource, DryRun: true,
			Body: &kubeconnectv1.UpdateRequest_Data{Data: []byte(f.body)}, FieldValidation: f.validation, Encoding: kit.EncodingJSON,
		})
		return outcomeOf(response.GetObject(), response.GetWarnings(), err)
	case "patch":
		response, err := client.Patch(ctx, kit.WithData(&kubeconnectv1.PatchRequest{
			Resource: f.target.resource, Namespace: f.namespace, Name: f.name, Subresource: f.subresource, DryRun: true,
			Type: f.patchType, FieldValidation: f.validation, FieldManager: "kubeconnect", Encoding: kit.EncodingJSON,
		}, f.body))
		return outcomeOf(response.GetObject(), response.GetWarnings(), err)
	case "delete":
		response, err := client.Delete(ctx, &kubeconnectv1.DeleteRequest{
			Resource: f.target.resource, Namespace: f.namespace, Name: f.name, DryRun: true,
			Preconditions: &kubeconnectv1.Preconditions{Uid: f.uid}, Encoding: kit.EncodingJSON,
		})
		return outcomeOf(response.GetObject(), response.GetWarnings(), err)
	}
	response, err := client.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{
		Resource: f.target.resource, Namespace: f.namespace, LabelSelector: f.labels, DryRun: true,
	})
	result := outcomeOf(nil, response.GetWarnings(), err)
	result.deleted = int(response.GetDeletedCount())
	return result
}

func outcomeOf(object *kubeconnectv1.Object, warnings []string, err error) outcome {
	status := kit.StatusIn(err)
	if err != nil && status == nil {
		status = &kubeconnectv1.Status{Message: err.Error()}
	}
	return outcome{object: comparable(object.GetJson()), warnings: warnings, status: withoutUIDs(status)}
}

// directClient makes writes by requests to the API server itself.
type directClient struct {
	http *http.Client
	host string
}

func newDirectClient(t *testing.T) directClient {
	t.Helper()
	client, err := rest.HTTPClientFor(kit.Cluster(t).Config)
	if err != nil {
		t.Fatal(err)
	}
	return directClient{client, kit.Cluster(t).Config.Host}
}

var methods = map[string]string{"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETE"}

func (d directClient) make(ctx context.Context, t *testing.T, write forwardedWrite) outcome {
	t.Helper()
	body, contentType := write.direct()
	request, err := http.NewRequestWithContext(ctx, methods[write.verb], d.host+write.url(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", contentType)
	response, err := d.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return directOutcome(t, response, answer, write)
}

// direct returns the body of a write as the API server gets it, and its type.
func (f forwardedWrite) direct() (body, contentType string) {
	body = f.body
	if f.expanded != "" {
		body = f.expanded
	}
	switch {
	case f.verb == "delete" || f.verb == "deletecollection":
		options := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
		if f.uid != "" {
			options.Preconditions = metav1.NewUIDPreconditions(f.uid)
		}
		text, _ := json.Marshal(options)
		return string(text), "application/json"
	case f.verb == "patch":
		return body, patchContentTypes[f.patchType]
	case strings.HasPrefix(body, "{"):
		return body, "application/json"
	}
	return body, "application/yaml"
}

var patchContentTypes = map[kubeconnectv1.PatchType]string{
	jsonPatch:      "application/json-patch+json",
	kit.MergePatch: "application/merge-patch+json",
	applyPatch:     "application/apply-patch+yaml",
	kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE: "application/strategic-merge-patch+json",
}

func (f forwardedWrite) url() string {
	parts := []string{f.target.path, "namespaces", f.namespace, f.target.plural, f.name, f.subresource}
	query := url.Values{}
	if f.labels != "" {
		query.Set("labelSelector", f.labels)
	}
	if !strings.HasPrefix(f.verb, "delete") {
		query.Set("dryRun", "All")
		query.Set("fieldManager", "kubeconnect")
	}
	if level := f.validation; level != 0 {
		query.Set("fieldValidation", map[kubeconnectv1.FieldValidation]string{1: "Ignore", 2: "Warn", 3: "Strict"}[level])
	}
	if f.patchType == applyPatch {
		query.Set("force", "false")
	}
	return strings.TrimRight(strings.Join(parts, "/"), "/") + "?" + query.Encode()
}

func directOutcome(t *testing.T, response *http.Response, answer []byte, write forwardedWrite) (result outcome) {
	t.Helper()
	parsed, errs := utilnet.ParseWarningHeaders(response.Header["Warning"])
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, warning := range parsed {
		result.warnings = append(result.warnings, warning.Text)
	}
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		var status metav1.Status
		if err := json.Unmarshal(answer, &status); err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
		result.status = withoutUIDs(kit.StatusOf(status))
	case write.verb == "deletecollection":
		var list struct{ Items []any }
		if err := json.Unmarshal(answer, &list); err != nil {
			t.Fatal(err)
		}
		result.deleted = len(list.Items)
	default:
		result.object = comparable(answer)
	}
	return result
}

// differing matches the values that differ between two equal writes.
var differing = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// noTime matches a time that API servers of Kubernetes 1.33 write where there is none.
var noTime = regexp.MustCompile(`"creationTimestamp":null,?`)

// comparable returns an object in JSON without the values that differ between two equal writes. A
// Status, which only confirms a deletion, is empty, because the service does not return it.
func comparable(text []byte) string {
	if bytes.HasPrefix(text, []byte(`{"kind":"Status"`)) {
		return ""
	}
	return string(bytes.TrimSpace(differing.ReplaceAll(noTime.ReplaceAll(text, nil), nil)))
}

// withoutUIDs returns a status without the values that differ between two equal writes.
func withoutUIDs(status *kubeconnectv1.Status) *kubeconnectv1.Status {
	if status != nil {
		status.Message = differing.ReplaceAllString(status.GetMessage(), "")
		for _, cause := range status.GetCauses() {
			cause.Message = differing.ReplaceAllString(cause.GetMessage(), "")
		}
	}
	return status
}
