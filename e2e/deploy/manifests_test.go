package deploy_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// installer creates manifests with strict validation, and records the API server's warnings.
type installer struct {
	mapper  *restmapperOf
	dynamic *dynamic.DynamicClient
	*warnings
}

type restmapperOf = restmapper.DeferredDiscoveryRESTMapper

func newInstaller(t *testing.T, controlPlane *harness.Cluster) installer {
	t.Helper()
	config, heard := rest.CopyConfig(controlPlane.Config), &warnings{}
	config.WarningHandler = heard
	client, err := dynamic.NewForConfig(config)
	succeeds(t, err)
	return installer{restmapper.NewDeferredDiscoveryRESTMapper(fresh{controlPlane.Client.Discovery()}), client, heard}
}

func (i installer) create(ctx context.Context, object manifest, dryRun ...string) error {
	resource, err := i.resource(object)
	if err == nil {
		_, err = resource.Create(ctx, object, metav1.CreateOptions{DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict})
	}
	return about(object, err)
}

func (i installer) delete(ctx context.Context, object manifest) error {
	resource, err := i.resource(object)
	if err == nil {
		err = resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{})
	}
	return about(object, err)
}

func (i installer) resource(object manifest) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := i.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	return i.dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
}

func about(object manifest, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", object.GroupVersionKind(), object.GetName(), err)
	}
	return nil
}

// warnings implements rest.WarningHandler.
type warnings struct {
	mu   sync.Mutex // guards text
	text []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) wantNone(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range w.text {
		t.Errorf("warning of the API server: %s", text)
	}
}

// strict enforces the restricted Pod Security Standard in a namespace.
var strict = map[string]string{
	"pod-security.kubernetes.io/enforce": "restricted",
	"pod-security.kubernetes.io/warn":    "restricted",
}

func newNamespace(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, labels map[string]string) string {
	t.Helper()
	template := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "deploy-", Labels: labels}}
	created, err := controlPlane.Client.CoreV1().Namespaces().Create(ctx, template, metav1.CreateOptions{})
	succeeds(t, err)
	return created.Name
}

// crds are the API groups of cert-manager, the Prometheus operator and a Gateway.
var crds = map[string]schema.GroupVersion{
	"testdata/certificate-crd.yaml": {Group: "cert-manager.io", Version: "v1"},
	"testdata/gateway-crds.yaml":    {Group: "gateway.networking.k8s.io", Version: "v1"},
	"testdata/prometheus-crds.yaml": {Group: "monitoring.coreos.com", Version: "v1"},
}

// installCRDs installs the CRDs, once.
func installCRDs(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) {
	t.Helper()
	install := newInstaller(t, controlPlane)
	for file, served := range crds {
		text, err := os.ReadFile(file)
		succeeds(t, err)
		definitions := parse(t, string(text))
		for _, crd := range definitions {
			if err := install.create(ctx, crd); err != nil && !apierrors.IsAlreadyExists(err) {
				t.Fatal(err)
			}
		}
		succeeds(t, eventually(ctx, func() error {
			resources, err := controlPlane.Client.Discovery().ServerResourcesForGroupVersion(served.String())
			if err == nil && len(resources.APIResources) < len(definitions) {
				err = fmt.Errorf("%s: only %d resources are served", served, len(resources.APIResources))
			}
			return err
		}))
	}
}

func TestManifests_AreValidInEveryVariant(t *testing.T) {
	t.Parallel()
	ctx, controlPlane := deadline(t), cluster(t)
	installCRDs(ctx, t, controlPlane)
	namespace := newNamespace(ctx, t, controlPlane, strict)
	for name, variant := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, install := deadline(t), newInstaller(t, controlPlane)
			for _, object := range (release{"r", namespace, with(variant)}).manifests(t) {
				if err := install.create(ctx, object, metav1.DryRunAll); err != nil {
					t.Error(err)
				}
			}
			install.wantNone(t)
		})
	}
}
