package kit

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// PodSet is a namespace with pods that nothing but the test changes.
type PodSet struct {
	ctx       context.Context
	T         *testing.T
	Namespace string
	owner     metav1.OwnerReference
	Last      string // the version of the last write
}

// NewPodSet creates a namespace with pods, their owner and a service that selects them.
func NewPodSet(ctx context.Context, t *testing.T, count int) *PodSet {
	t.Helper()
	s := &PodSet{ctx: ctx, T: t, Namespace: NewNamespace(ctx, t, Cluster(t))}
	owner := ConfigMapsIn(ctx, t, Cluster(t), s.Namespace).Create("owner", nil)
	s.owner = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
	front := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "front"}, Spec: corev1.ServiceSpec{
		Selector: Labels{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	if _, err := Cluster(t).Client.CoreV1().Services(s.Namespace).Create(ctx, front, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range count {
		with := Labels{"app": "web"}
		if i%4 != 3 {
			with["rank"] = fmt.Sprint(i % 3)
		}
		s.Create(fmt.Sprintf("p-%02d", i), with)
	}
	s.Create("outside", Labels{"app": "db"})
	return s
}

func (s *PodSet) took(pod *corev1.Pod, err error) {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
	s.Last = pod.ResourceVersion
}

// Create creates a pod with these labels.
func (s *PodSet) Create(name string, with Labels) {
	s.T.Helper()
	s.took(Cluster(s.T).Client.CoreV1().Pods(s.Namespace).Create(s.ctx, QuietPod(name, with, s.owner), metav1.CreateOptions{}))
}

// CreateAlone makes a pod that has no owner.
func (s *PodSet) CreateAlone(name string) {
	s.T.Helper()
	s.took(Cluster(s.T).Client.CoreV1().Pods(s.Namespace).Create(s.ctx, QuietPod(name, Labels{"app": "web"}), metav1.CreateOptions{}))
}

// Relabel sets the label of a pod.
func (s *PodSet) Relabel(name, with string) {
	s.T.Helper()
	patch := []byte(`{"metadata":{"labels":` + with + `}}`)
	s.took(Cluster(s.T).Client.CoreV1().Pods(s.Namespace).Patch(s.ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}))
}

// Delete deletes a pod.
func (s *PodSet) Delete(name string) {
	s.T.Helper()
	now := int64(0)
	err := Cluster(s.T).Client.CoreV1().Pods(s.Namespace).Delete(s.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	if IgnoreNotFound(err) != nil {
		s.T.Fatal(err)
	}
}

// Disturb changes all sorts of things between two pages: it deletes the object that the page has
// ended with and makes another of its name, and so on; in the end nothing of the selection is left.
func (s *PodSet) Disturb(page int, last *kubeconnectv1.ListResponse) {
	s.T.Helper()
	switch page {
	case 1:
		boundary := last.GetObjects()[len(last.GetObjects())-1].GetName()
		s.Delete(boundary)
		s.Create(boundary, Labels{"app": "web", "rank": "2"})
		s.Delete("p-06")
		s.Create("p-00a", Labels{"app": "web", "rank": "0"})
		s.Create("p-05a", Labels{"app": "web"})
		s.Relabel("outside", `{"app":"web","rank":"1"}`)
		s.Relabel("p-07", `{"app":"db"}`)
		s.Relabel("p-08", `{"rank":"0"}`)
		s.Relabel("p-09", `{"rank":null}`)
	case 2:
		s.Delete("p-08")
		s.Create("p-08", Labels{"app": "web", "rank": "1"})
		s.Relabel("p-07", `{"app":"web"}`)
	case 3:
		for i := range 12 {
			s.Delete(fmt.Sprintf("p-%02d", i))
		}
	}
}
