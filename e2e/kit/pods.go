package kit

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// BusyPod returns a pod as programs create them: two containers with environment, volumes, probes
// and resources, and the labels and annotations of a few tools. With the fields that the API server
// adds it has about 6 KB.
func BusyPod(i int) *corev1.Pod {
	pod := UnscheduledPod(fmt.Sprintf("payments-api-7d9c5b8f6d-%05d", i))
	pod.Labels = Labels{
		"app.kubernetes.io/name": "payments-api", "app.kubernetes.io/instance": fmt.Sprintf("shard-%d", i%50),
		"app.kubernetes.io/version": "4.17.2", "app.kubernetes.io/managed-by": "Helm", "pod-template-hash": "7d9c5b8f6d",
	}
	pod.Annotations = Labels{
		"prometheus.io/scrape": "true", "prometheus.io/port": "9102",
		"checksum/config":             strings.Repeat("9f86d081", 8),
		"example.com/last-deployment": `{"by":"pipeline","commit":"` + strings.Repeat("ab", 20) + `"}`,
	}
	pod.Spec.Containers = []corev1.Container{busyContainer("api", 8080, 4), busyContainer("sidecar", 15090, 2)}
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "payments-api-config"},
		}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "payments", Effect: corev1.TaintEffectNoSchedule}}
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: Labels{"app.kubernetes.io/name": "payments-api"}},
	}}
	return pod
}

func busyContainer(name string, port int32, variables int) corev1.Container {
	container := corev1.Container{
		Name: name, Image: "registry.example.com/payments/" + name + "@sha256:" + strings.Repeat("0123456789abcdef", 4),
		Args:           []string{"--listen=:" + fmt.Sprint(port), "--log-format=json", "--config=/etc/" + name + "/config.yaml"},
		Ports:          []corev1.ContainerPort{{Name: name, ContainerPort: port}},
		ReadinessProbe: probeOf("/readyz", port),
		LivenessProbe:  probeOf("/livez", port),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/" + name, ReadOnly: true}, {Name: "scratch", MountPath: "/tmp"},
		},
	}
	for i := range variables {
		container.Env = append(container.Env, corev1.EnvVar{
			Name: fmt.Sprintf("PAYMENTS_SETTING_%d", i), Value: fmt.Sprintf("postgres://payments-db-%d.databases.svc:5432/payments", i),
		})
	}
	return container
}

func probeOf(path string, port int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)}},
		PeriodSeconds: 5,
	}
}

// QuietPod is one that nothing but the test changes.
func QuietPod(name string, with Labels, owners ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: with, OwnerReferences: owners},
		Spec: corev1.PodSpec{
			SchedulerName: "nobody",
			Containers:    []corev1.Container{{Name: "c", Image: "example.com/image"}},
		},
	}
}

// CreateUnscheduledPod creates a pod that no scheduler touches.
func CreateUnscheduledPod(ctx context.Context, t *testing.T, namespace, name string) *corev1.Pod {
	t.Helper()
	pod, err := Cluster(t).Client.CoreV1().Pods(namespace).Create(ctx, UnscheduledPod(name), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// UnscheduledPod returns a pod that no node runs.
func UnscheduledPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			SchedulerName: "nobody",
			Containers:    []corev1.Container{{Name: "main", Image: "example.com/main:1"}},
		},
	}
}
