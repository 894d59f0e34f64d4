package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestTransport_GRPCurlListsServices(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	got := strings.Fields(grpcurl(ctx, t, "-plaintext", kit.HostPort(service), "list"))
	if slices.Sort(got); !slices.Equal(got, describedServices) {
		t.Errorf("services %q, want %q", got, describedServices)
	}
}

func TestTransport_GRPCurlReadsObjects(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	wantReadablePod(t, service, "-plaintext")
}

func TestTransport_GRPCurlReadsObjectsOverTLS(t *testing.T) {
	t.Parallel()
	certificate := kit.NewCertificate(t)
	wantReadablePod(t, kit.StartTLSService(t, kit.Cluster(t), certificate), "-cacert", certificate.CertFile)
}

func TestTransport_GRPCurlWatchesAChange(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	write.Create("one", kit.Labels{"app": "web"})

	request := fmt.Sprintf(`{"resource":"cm","namespace":%q,"labelSelector":"app=web"}`, namespace)
	watch := kit.StartProcess(t, grpcurlPath(t), "-plaintext", "-d", request, kit.HostPort(service), "kubeconnect.v1.ResourceService/Watch")
	_, err := watch.UntilPrints(ctx, func(line string) bool { return strings.Contains(line, "EVENT_TYPE_SYNCED") })
	if err != nil {
		t.Fatal(err)
	}
	changed := write.Touch("one", "touched")
	kit.Eventually(ctx, t, "the change is printed", func() error {
		if !strings.Contains(watch.Output(), changed.ResourceVersion) {
			return fmt.Errorf("output:\n%s", watch.Output())
		}
		return nil
	})
	kit.Eventually(ctx, t, "the complete message is printed", func() error {
		got := record.Lines(record.AfterSnapshot(printedEvents(t, watch.Output())))
		if want := []string{kit.Modified(changed)}; !slices.Equal(got, want) {
			return fmt.Errorf("events %q, want %q", got, want)
		}
		return nil
	})
}

// wantReadablePod creates a pod in kube-system and lists the namespace until the pod is in the
// list, with its content in plain JSON.
func wantReadablePod(t *testing.T, service *harness.Service, flags ...string) {
	t.Helper()
	ctx := kit.Deadline(t)
	template := kit.UnscheduledPod("")
	template.GenerateName = "e2e-"
	pods := kit.Cluster(t).Client.CoreV1().Pods(metav1.NamespaceSystem)
	created, err := pods.Create(ctx, template, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = pods.Delete(context.WithoutCancel(ctx), created.Name, *metav1.NewDeleteOptions(0))
	})
	list := []string{"-d", `{"resource":"po","namespace":"kube-system"}`, kit.HostPort(service), "kubeconnect.v1.ResourceService/List"}
	kit.Eventually(ctx, t, "the pod is listed", func() error {
		printed := grpcurl(ctx, t, slices.Concat(flags, list)...)
		return hasReadablePod(printed, created.Name)
	})
}

func hasReadablePod(printed, name string) error {
	var answer struct {
		Objects []struct {
			Name   string
			Struct struct {
				Metadata struct{ Name, Namespace string }
				Spec     struct{ Containers []struct{ Image string } }
			}
		}
	}
	if err := json.Unmarshal([]byte(printed), &answer); err != nil {
		return err
	}
	for _, object := range answer.Objects {
		pod := object.Struct
		if object.Name == name && pod.Metadata.Name == name && pod.Metadata.Namespace == metav1.NamespaceSystem &&
			len(pod.Spec.Containers) == 1 && pod.Spec.Containers[0].Image == "example.com/main:1" {
			return nil
		}
	}
	return fmt.Errorf("%s is missing or not readable in\n%s", name, printed)
}

// printedEvents returns the events that grpcurl has printed so far.
func printedEvents(t *testing.T, printed string) []*kubeconnectv1.Event {
	t.Helper()
	var events []*kubeconnectv1.Event
	for decoder := json.NewDecoder(strings.NewReader(printed)); ; {
		var text json.RawMessage
		if decoder.Decode(&text) != nil {
			return events // the rest is not printed yet
		}
		response := new(kubeconnectv1.WatchResponse)
		if err := protojson.Unmarshal(text, response); err != nil {
			t.Fatal(err)
		}
		events = append(events, response.GetEvents()...)
	}
}

// grpcurl runs grpcurl and returns its output.
func grpcurl(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	return output(t, exec.CommandContext(ctx, grpcurlPath(t), args...))
}

// output runs a command to its end and returns its output.
func output(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	printed, err := command.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			printed = append(printed, failed.Stderr...)
		}
		t.Fatalf("%s: %v\n%s", command, err, printed)
	}
	return string(printed)
}

// grpcurlPath returns the path of the program in GRPCURL, or of the one that make builds from the
// tools' module. No test compiles anything.
func grpcurlPath(t *testing.T) string {
	t.Helper()
	path, err := harness.Binary("GRPCURL", "grpcurl")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
