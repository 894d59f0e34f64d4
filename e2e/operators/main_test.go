package operators_test

import (
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	// controller-runtime leaves a filtered watch of metadata behind if an event is pending when the cache ends.
	kit.Main(m, goleak.IgnoreAnyFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"))
}

// sides are the servers that the programs use, by their names.
var sides = map[string]func(*testing.T) *rest.Config{
	"the service": func(t *testing.T) *rest.Config {
		return &rest.Config{Host: harness.StartService(t, kit.Cluster(t).Kubeconfig).Address, QPS: -1}
	},
	"the API server": func(t *testing.T) *rest.Config { return rest.CopyConfig(kit.Cluster(t).Config) },
}

// newScheme returns the kinds of the programs.
func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	scheme.AddKnownTypes(websites, &Website{}, &WebsiteList{})
	metav1.AddToGroupVersion(scheme, websites)
	return scheme
}

// adminClient returns a client of the API server itself.
func adminClient(t *testing.T) client.Client {
	t.Helper()
	admin, err := client.New(kit.Cluster(t).Config, client.Options{Scheme: newScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return admin
}
