package object

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/internal/testobjects"
)

// samplesOfFields has, for each selectable field of each built-in kind, an object and the value
// that the API server selects it by.
var samplesOfFields = []struct {
	resource Resource
	object   runtime.Object
	want     map[string]string
}{
	{
		Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true},
		&corev1.Pod{
			Spec: corev1.PodSpec{NodeName: "n", RestartPolicy: "Always", SchedulerName: "s", ServiceAccountName: "sa", HostNetwork: true},
			Status: corev1.PodStatus{Phase: "Running", NominatedNodeName: "m", PodIP: "1.2.3.4",
				PodIPs: []corev1.PodIP{{IP: "1.2.3.4"}, {IP: "::1"}}},
		},
		map[string]string{
			"spec.nodeName": "n", "spec.restartPolicy": "Always", "spec.schedulerName": "s", "spec.serviceAccountName": "sa",
			"spec.hostNetwork": "true", "status.phase": "Running", "status.podIP": "1.2.3.4", "status.nominatedNodeName": "m",
		},
	},
	{
		Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}, &corev1.Pod{},
		map[string]string{"spec.nodeName": "", "spec.hostNetwork": "false", "status.podIP": "", "status.phase": ""},
	},
	{
		Resource{Version: "v1", Name: "nodes", Kind: "Node"}, &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}},
		map[string]string{"spec.unschedulable": "true"},
	},
	{
		Resource{Version: "v1", Name: "nodes", Kind: "Node"}, &corev1.Node{},
		map[string]string{"spec.unschedulable": "false"},
	},
	{
		Resource{Version: "v1", Name: "namespaces", Kind: "Namespace"}, &corev1.Namespace{Status: corev1.NamespaceStatus{Phase: "Active"}},
		map[string]string{"status.phase": "Active"},
	},
	{
		Resource{Version: "v1", Name: "secrets", Kind: "Secret", Namespaced: true}, &corev1.Secret{Type: "Opaque"},
		map[string]string{"type": "Opaque"},
	},
	{
		Resource{Version: "v1", Name: "services", Kind: "Service", Namespaced: true},
		&corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1", Type: "NodePort"}},
		map[string]string{"spec.clusterIP": "10.0.0.1", "spec.type": "NodePort"},
	},
	{
		Resource{Version: "v1", Name: "replicationcontrollers", Kind: "ReplicationController", Namespaced: true},
		&corev1.ReplicationController{Status: corev1.ReplicationControllerStatus{Replicas: 3}},
		map[string]string{"status.replicas": "3"},
	},
	{
		Resource{Group: "apps", Version: "v1", Name: "replicasets", Kind: "ReplicaSet", Namespaced: true},
		&appsv1.ReplicaSet{Status: appsv1.ReplicaSetStatus{Replicas: 3}}, map[string]string{"status.replicas": "3"},
	},
	{
		Resource{Group: "apps", Version: "v1", Name: "replicasets", Kind: "ReplicaSet", Namespaced: true},
		&appsv1.ReplicaSet{}, map[string]string{"status.replicas": "0"},
	},
	{
		Resource{Group: "batch", Version: "v1", Name: "jobs", Kind: "Job", Namespaced: true},
		&batchv1.Job{Status: batchv1.JobStatus{Succeeded: 2}}, map[string]string{"status.successful": "2"},
	},
	{
		Resource{Group: "certificates.k8s.io", Version: "v1", Name: "certificatesigningrequests", Kind: "CertificateSigningRequest"},
		&certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: "s"}},
		map[string]string{"spec.signerName": "s"},
	},
	{
		Resource{Version: "v1", Name: "events", Kind: "Event", Namespaced: true},
		&corev1.Event{
			InvolvedObject: corev1.ObjectReference{Kind: "k", Namespace: "ns", Name: "n", UID: "u", APIVersion: "v", ResourceVersion: "r", FieldPath: "f"},
			Reason:         "why", ReportingController: "c", Source: corev1.EventSource{Component: "s"}, Type: "Warning",
		},
		map[string]string{
			"involvedObject.kind": "k", "involvedObject.namespace": "ns", "involvedObject.name": "n", "involvedObject.uid": "u",
			"involvedObject.apiVersion": "v", "involvedObject.resourceVersion": "r", "involvedObject.fieldPath": "f",
			"reason": "why", "reportingComponent": "c", "source": "s", "type": "Warning",
		},
	},
	{
		Resource{Version: "v1", Name: "events", Kind: "Event", Namespaced: true}, &corev1.Event{ReportingController: "c"},
		map[string]string{"source": "c"},
	},
	{
		Resource{Group: "events.k8s.io", Version: "v1", Name: "events", Kind: "Event", Namespaced: true},
		&eventsv1.Event{
			Regarding: corev1.ObjectReference{Kind: "k", Namespace: "ns", Name: "n", UID: "u", APIVersion: "v", ResourceVersion: "r", FieldPath: "f"},
			Reason:    "why", ReportingController: "c", Type: "Warning",
		},
		map[string]string{
			"regarding.kind": "k", "regarding.namespace": "ns", "regarding.name": "n", "regarding.uid": "u",
			"regarding.apiVersion": "v", "regarding.resourceVersion": "r", "regarding.fieldPath": "f",
			"reason": "why", "reportingController": "c", "type": "Warning",
		},
	},
}

// builtInFieldsOf returns the selectable fields of a resource whose API server supports no others.
func builtInFieldsOf(resource Resource) *SelectableFields {
	return NewSelectableFields(resource, func(_ context.Context, field string) error {
		return apierrors.NewBadRequest("field label not supported: " + field)
	})
}

func TestSelectableFields_ReadFromProtobuf(t *testing.T) {
	tried := make(map[string]bool)
	for _, sample := range samplesOfFields {
		fields := builtInFieldsOf(sample.resource)
		object := decodeOne(t, &Codec{Kind: sample.resource.GroupVersionKind()}, testobjects.ProtobufBody(t, sample.object))
		for field, want := range sample.want {
			tried[sample.resource.GroupResource().String()+" "+field] = true
			read, err := fields.Find(t.Context(), field)
			if err != nil {
				t.Fatal(err)
			}
			if got := read(object); got != want {
				t.Errorf("%s of %s is %q, want %q", field, sample.resource, got, want)
			}
		}
	}
	for resource, fields := range builtInFields {
		for field := range fields {
			if !tried[resource+" "+field] {
				t.Errorf("%s of %s has no sample", field, resource)
			}
		}
	}
}

// TestSelectableFields_UnknownVersionNeedsARequest guards the assumption that all versions of a
// kind agree on their field numbers: for a version that client-go does not know, the API server is
// asked.
func TestSelectableFields_UnknownVersionNeedsARequest(t *testing.T) {
	future := Resource{Version: "v2", Name: "pods", Kind: "Pod", Namespaced: true}
	if scheme.Scheme.Recognizes(future.GroupVersionKind()) {
		t.Skip("client-go knows it")
	}
	if _, err := builtInFieldsOf(future).Find(t.Context(), "spec.nodeName"); err == nil {
		t.Error("found without asking the API server")
	}
}

func TestSelectableFields_ReadCustomFieldsAsTheAPIServerDoes(t *testing.T) {
	object := decodeOne(t, &Codec{Kind: widgetKind()}, []byte(`{"metadata":{"name":"a"},"spec":{"color":"re\"d","size":3,"on":true,"off":null,"deep":{"er":"x"}}}`))
	for field, want := range map[string]string{
		"spec.color": `re"d`, "spec.size": "3", "spec.on": "true", "spec.off": "", "spec.missing": "", "spec.deep.er": "x",
		"nothing.here.at.all": "", "spec.color.below": "",
	} {
		t.Run(field, func(t *testing.T) {
			read := NewSelectableFields(widgets, nil).addReader(field)
			if got := read(object); got != want {
				t.Errorf("read %q, want %q", got, want)
			}
		})
	}
}

// A field that the API server does not know causes one request in a while, for all callers.
func TestSelectableFields_UnknownNamesShareRequests(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		var asked, atOnce atomic.Int32
		fields := NewSelectableFields(widgets, func(context.Context, string) error {
			asked.Add(1)
			if atOnce.Add(1) > 1 {
				t.Error("two concurrent requests")
			}
			defer atOnce.Add(-1)
			time.Sleep(time.Millisecond)
			return apierrors.NewBadRequest("field label not supported")
		})
		queue := fairqueue.New(fairqueue.Limits{Total: 1})
		find := func(caller, field string) error {
			_, err := fields.Find(fairqueue.With(t.Context(), queue, caller), field)
			return err
		}
		var all sync.WaitGroup
		for i := range 10 {
			for range 10 {
				all.Go(func() {
					if err := find(fmt.Sprint("caller-", i), "spec.made.up"); !apierrors.IsBadRequest(err) {
						t.Errorf("error %v", err)
					}
				})
			}
		}
		all.Wait()
		if asked.Load() != 1 {
			t.Errorf("the API server was asked %d times about one field", asked.Load())
		}

		// One caller invents names; another one, who comes later, waits for at most one of them.
		began, refused := time.Now(), atomic.Int32{}
		for i := range 100 {
			all.Go(func() {
				if err := find("hostile", fmt.Sprint("spec.field-", i)); apierrors.IsTooManyRequests(err) {
					refused.Add(1)
				}
			})
		}
		time.Sleep(2 * time.Second)
		waited := time.Now()
		if err := find("good", "spec.other"); !apierrors.IsBadRequest(err) {
			t.Errorf("a well-behaved caller got %v", err)
		}
		if wait := time.Since(waited); wait > 2*time.Second {
			t.Errorf("a well-behaved caller waited for %s", wait)
		}
		all.Wait()
		if got := refused.Load(); got < 80 {
			t.Errorf("%d of 100 invalid names were rejected", got)
		}
		if most := int32(time.Since(began).Seconds()*fieldsPerSecond) + fieldBurst + 2; asked.Load() > most {
			t.Errorf("the API server was asked %d times in %s", asked.Load(), time.Since(began))
		}
		before := asked.Load()
		time.Sleep(fieldMissesRemembered)
		if err := find("good", "spec.made.up"); !apierrors.IsBadRequest(err) || asked.Load() != before+1 {
			t.Errorf("after a while the API server was asked %d times more (%v)", asked.Load()-before, err)
		}
	})
}

// A caller whose turn would come after its deadline does not wait for it.
func TestSelectableFields_TurnAfterTheDeadlineIsADeadlineThatIsExceeded(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		shuttingDown := errors.New("shutting down")
		fields := NewSelectableFields(widgets, func(context.Context, string) error { return nil })
		for i := range fieldBurst {
			if _, err := fields.Find(t.Context(), fmt.Sprint("spec.field-", i)); err != nil {
				t.Fatal(err)
			}
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second/fieldsPerSecond/2)
		defer cancel()
		if _, err := fields.Find(soon, "spec.late"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before the deadline: %v", err)
		}
		ended, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second/fieldsPerSecond/2, func() { end(shuttingDown) })
		if _, err := fields.Find(ended, "spec.late"); !errors.Is(err, shuttingDown) {
			t.Errorf("while it waits for its turn: %v", err)
		}
	})
}

func TestSelectableFields_FailedRequestsAreNotCached(t *testing.T) {
	asked := 0
	fields := NewSelectableFields(widgets, func(context.Context, string) error {
		asked++
		return errors.New("unreachable")
	})
	for range 2 {
		if _, err := fields.Find(t.Context(), "spec.color"); err == nil {
			t.Error("found without a response")
		}
	}
	if asked != 2 {
		t.Errorf("the API server was asked %d times", asked)
	}
}

func TestSelectableFields_SupportedFieldIsRequestedOnce(t *testing.T) {
	asked := 0
	fields := NewSelectableFields(widgets, func(context.Context, string) error { asked++; return nil })
	for range 3 {
		if _, err := fields.Find(t.Context(), "spec.color"); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 {
		t.Errorf("the API server was asked %d times", asked)
	}
}

func TestSelectableFields_UnsupportedFieldIsRequestedAgain(t *testing.T) {
	refusal := errors.New("not supported")
	fields := NewSelectableFields(widgets, func(context.Context, string) error { return refusal })
	if _, err := fields.Find(t.Context(), "spec.color"); !errors.Is(err, refusal) {
		t.Errorf("error %v", err)
	}
	refusal = nil // the CRD supports the field meanwhile
	if _, err := fields.Find(t.Context(), "spec.color"); err != nil {
		t.Errorf("error %v", err)
	}
}
