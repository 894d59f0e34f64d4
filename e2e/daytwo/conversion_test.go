package daytwo_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// A CRD is upgraded as its operator does it: version v2 is added, served and stored, a webhook converts
// between v1 and v2, existing objects are stored in v2, and v1 is no longer served. In between, the
// webhook is away for a while. Callers of a version have all objects in that version, and callers that
// name no version continue with v2.
func TestConversion_UpgradeOfADefinition(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	u := newUpgrade(ctx, t)
	u.serveBothVersions(ctx)
	u.changeInBothVersions(ctx)
	u.loseTheWebhook(ctx)
	u.retireV1(ctx)
}

// upgrade is the upgrade of a definition, with a stream that names no version and one of each version.
type upgrade struct {
	t                  *testing.T
	client             kit.ResourceClient
	namespace          string
	gadgets            kit.CustomResource
	webhook            *conversion
	anyVersion, v1, v2 *record.Stream
	versions           kit.Versions // of the gadgets
}

// newUpgrade defines v1, and creates a first gadget.
func newUpgrade(ctx context.Context, t *testing.T) *upgrade {
	t.Helper()
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	u := &upgrade{
		t: t, client: kit.NewClient(t, kit.Cluster(t)), namespace: namespace, webhook: startConversion(t),
		gadgets: kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace), versions: kit.Versions{},
	}
	u.gadgets.Define("v1")
	u.versions.Add(u.gadgets.Create("v1", namespace, "one", map[string]any{"color": "red"}))
	kit.UntilListed(ctx, t, u.client, u.gadgets)
	u.anyVersion, u.v1 = u.watch(ctx, u.gadgets.Name()), u.watch(ctx, u.in("v1"))
	return u
}

// in returns the name of the resource with a version.
func (u *upgrade) in(version string) string { return "gadgets." + version + "." + u.gadgets.Group }

func (u *upgrade) watch(ctx context.Context, resource string) *record.Stream {
	u.t.Helper()
	stream := record.Watch(u.t, u.client, kit.InNamespace(resource, u.namespace))
	stream.Synced(ctx)
	return stream
}

// converge blocks until each client has all gadgets in its version, and is current.
func (u *upgrade) converge(ctx context.Context, streams ...*record.Stream) {
	u.t.Helper()
	for _, stream := range streams {
		untilConverted(ctx, stream, u.versions)
		stream.Until(ctx, "the stream is current", func(view *record.View) bool { return !view.Freshness.GetStale() })
	}
}

func (u *upgrade) serveBothVersions(ctx context.Context) {
	u.t.Helper()
	redefine(ctx, u.t, u.gadgets, []string{"v1", "v2"}, nil, u.webhook)
	kit.Eventually(ctx, u.t, "the service lists v2", func() error {
		_, err := u.client.List(ctx, &kubeconnectv1.ListRequest{Resource: u.in("v2"), Namespace: u.namespace})
		return err
	})
	u.v2 = u.watch(ctx, u.in("v2"))
	u.converge(ctx, u.anyVersion, u.v1, u.v2)
}

func (u *upgrade) changeInBothVersions(ctx context.Context) {
	u.t.Helper()
	u.versions.Add(u.gadgets.Create("v2", u.namespace, "two", map[string]any{"hue": "green"}))
	u.versions.Add(storeAgain(ctx, u.t, u.gadgets, u.namespace, "one"))
	u.converge(ctx, u.anyVersion, u.v1, u.v2)
	patched := kit.Patch(ctx, u.t, u.client, kit.WithData(&kubeconnectv1.PatchRequest{
		Resource: u.in("v1"), Namespace: u.namespace, Name: "two", Type: kit.MergePatch,
	}, `{"spec":{"color":"blue"}}`))
	two := u.gadgets.Get("v2", u.namespace, "two")
	kit.WantField(u.t, two.Object, "blue", "spec", "hue")
	kit.WantField(u.t, two.Object, patched.GetObject().GetResourceVersion(), "metadata", "resourceVersion")
	u.versions.Add(two)
	u.converge(ctx, u.anyVersion, u.v1, u.v2)
}

// loseTheWebhook makes the webhook fail while a gadget is created, which is stored in v2.
func (u *upgrade) loseTheWebhook(ctx context.Context) {
	u.t.Helper()
	u.webhook.away.Store(true)
	u.versions.Add(u.gadgets.Create("v2", u.namespace, "three", map[string]any{"hue": "yellow"}))
	u.converge(ctx, u.v2)
	u.v1.Until(ctx, "the stream that needs the webhook is stale", func(view *record.View) bool { return view.Freshness.GetStale() })
	u.webhook.away.Store(false)
	u.converge(ctx, u.anyVersion, u.v1, u.v2)
}

// retireV1 ends the service of v1.
func (u *upgrade) retireV1(ctx context.Context) {
	u.t.Helper()
	resets := u.v2.Now().Model.Resets
	redefine(ctx, u.t, u.gadgets, []string{"v2"}, []string{"v1"}, u.webhook)
	kit.WantError(u.t, u.v1.End(ctx), connect.CodeNotFound, "v1")
	_, err := u.client.List(ctx, &kubeconnectv1.ListRequest{Resource: u.in("v1"), Namespace: u.namespace})
	kit.WantError(u.t, err, connect.CodeNotFound, "v1")
	u.versions.Add(u.gadgets.Create("v2", u.namespace, "four", map[string]any{"hue": "white"}))
	u.converge(ctx, u.anyVersion, u.v2)
	if version := u.anyVersion.Now().Kind.GetVersion(); version != "v2" {
		u.t.Errorf("the stream that names no version continues with %s", version)
	}
	if again := u.v2.Now().Model.Resets; again != resets {
		u.t.Errorf("the stream of v2 had %d more snapshots when v1 was no longer served", again-resets)
	}
}

// untilConverted blocks until a client has these objects, each in the version and with the fields of
// the version of the stream.
func untilConverted(ctx context.Context, stream *record.Stream, want kit.Versions) record.View {
	return stream.Until(ctx, "the client has all objects in the version of the stream", func(view *record.View) bool {
		if !view.Model.Synced || !maps.Equal(kit.HeldVersions(view.Model), want) {
			return false
		}
		has, lacks := "color", "hue"
		if view.Kind.GetVersion() == "v2" {
			has, lacks = lacks, has
		}
		for _, object := range view.Model.Objects {
			content := object.GetStruct().GetFields()
			spec := content["spec"].GetStructValue().GetFields()
			if content["apiVersion"].GetStringValue() != view.Kind.GetGroup()+"/"+view.Kind.GetVersion() || spec[has] == nil || spec[lacks] != nil {
				return false
			}
		}
		return true
	})
}

// storeAgain changes the metadata of a gadget, which is then stored in v2.
func storeAgain(ctx context.Context, t *testing.T, gadgets kit.CustomResource, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	changed, err := gadgets.Objects("v2", namespace).Patch(ctx, name, types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"stored":"again"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// redefine changes the served and retired versions of a definition, with a conversion webhook. The last
// served version is stored.
func redefine(ctx context.Context, t *testing.T, gadgets kit.CustomResource, served, retired []string, webhook *conversion) {
	t.Helper()
	definitions := gadgets.ControlPlane.Dynamic.Resource(kit.CRDResource)
	kit.Eventually(ctx, t, "the definition is changed", func() error {
		now, err := definitions.Get(ctx, gadgets.Name(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		changed := gadgets.Definition(served, retired)
		changed.SetResourceVersion(now.GetResourceVersion())
		if err := unstructured.SetNestedMap(changed.Object, webhook.inDefinition(), "spec", "conversion"); err != nil {
			return err
		}
		_, err = definitions.Update(ctx, changed, metav1.UpdateOptions{})
		return err
	})
	kit.Eventually(ctx, t, "the API server serves exactly these versions", func() error {
		for _, version := range []string{"v1", "v2"} {
			_, err := gadgets.Objects(version, "").List(ctx, metav1.ListOptions{})
			if serves := err == nil; serves != strings.Contains(fmt.Sprint(served), version) {
				return fmt.Errorf("%s: %v", version, err)
			}
		}
		return nil
	})
}

// conversion is a webhook that converts gadgets: spec.color of v1 is spec.hue of v2.
type conversion struct {
	server *httptest.Server
	away   atomic.Bool // whether it fails
}

// startConversion starts a webhook, which ends with the test.
func startConversion(t *testing.T) *conversion {
	webhook := &conversion{}
	webhook.server = httptest.NewTLSServer(http.HandlerFunc(webhook.convert))
	t.Cleanup(webhook.server.Close)
	return webhook
}

// inDefinition returns the field spec.conversion of a definition.
func (c *conversion) inDefinition() map[string]any {
	return map[string]any{
		"strategy": "Webhook",
		"webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"},
			"clientConfig":             map[string]any{"url": c.server.URL, "caBundle": base64.StdEncoding.EncodeToString(pemOf(c.server))},
		},
	}
}

func (c *conversion) convert(w http.ResponseWriter, r *http.Request) {
	var review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    struct {
			UID               string           `json:"uid"`
			DesiredAPIVersion string           `json:"desiredAPIVersion"`
			Objects           []map[string]any `json:"objects"`
		} `json:"request"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || c.away.Load() {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	for _, object := range review.Request.Objects {
		from, to := "hue", "color"
		if strings.HasSuffix(review.Request.DesiredAPIVersion, "/v2") {
			from, to = to, from
		}
		object["apiVersion"] = review.Request.DesiredAPIVersion
		if spec, ok := object["spec"].(map[string]any); ok && spec[from] != nil {
			spec[to] = spec[from]
			delete(spec, from)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": review.APIVersion, "kind": review.Kind,
		"response": map[string]any{
			"uid": review.Request.UID, "result": map[string]any{"status": "Success"}, "convertedObjects": review.Request.Objects,
		},
	})
}

// pemOf returns the authority of a server as PEM.
func pemOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}
