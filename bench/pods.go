package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// The namespaces of the pods: half of all pods are in the namespace that is listed, fanOutPods in the
// namespace where changes are made, and the others in a third one. The fourth one has no pods.
const (
	listNamespace   = "listed"
	fanOutNamespace = "changing"
	restNamespace   = "others"
	emptyNamespace  = "empty"
)

const (
	// fanOutPods is the number of pods that are changed in turn, and the largest size of a burst.
	fanOutPods = 200
	// apps is the number of different values of the label app.
	apps = 500
	// podsOfNode is the number of pods on each node.
	podsOfNode = 4
	// parallelCreates is the number of pods that are created at the same time.
	parallelCreates = 16
)

// place is the namespace and name of the pod with a number.
type place struct {
	number    int
	namespace string
	name      string
}

// placeOf returns the place of the pod with a number, of the given number of pods. The values of all
// labels and fields are spread over all namespaces.
func placeOf(number, pods int) place {
	p := place{number: number, namespace: restNamespace}
	switch {
	case number < fanOutPods:
		p.namespace = fanOutNamespace
	case number < fanOutPods+pods/2:
		p.namespace = listNamespace
	}
	p.name = fmt.Sprintf("%s-7d9c5b8f6d-%05d", appOf(number), number)
	return p
}

func appOf(number int) string { return fmt.Sprintf("app-%d", number%apps) }

// nodeOf returns the name of a node that does not exist, so that no component changes the pod.
func nodeOf(number, pods int) string { return fmt.Sprintf("node-%d", number%(pods/podsOfNode)) }

// createNamespaces creates the namespaces, and in each of them the service account that admission
// requires, because the controllers that would create it are suspended.
func (c *controlPlane) createNamespaces(ctx context.Context) error {
	for _, name := range []string{listNamespace, fanOutNamespace, restNamespace, emptyNamespace} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := c.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		if err := ignoreExists(err); err != nil {
			return err
		}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		_, err = c.client.CoreV1().ServiceAccounts(name).Create(ctx, account, metav1.CreateOptions{})
		if err := ignoreExists(err); err != nil {
			return err
		}
	}
	return nil
}

// ignoreExists returns err unless it reports that the object exists already.
func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// createPods creates all pods as in a real cluster: a controller creates them, and a kubelet updates
// their status.
func (c *controlPlane) createPods(ctx context.Context, pods int) error {
	return inParallel(ctx, parallelCreates, pods, func(number int) error {
		manifest := podOf(number, pods)
		client := c.client.CoreV1().Pods(manifest.Namespace)
		pod, err := client.Create(ctx, manifest, metav1.CreateOptions{FieldManager: "kube-controller-manager"})
		if err != nil {
			return err
		}
		pod.Status = statusOf(pod, number)
		_, err = client.UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: "kubelet"})
		return err
	})
}

// podSize is the size of a pod in bytes: as protobuf, as protobuf without managedFields, and as JSON.
type podSize struct {
	whole, lean, json int
}

func (s podSize) String() string {
	return fmt.Sprintf("each %d bytes of protobuf (%d without managedFields), %d bytes of JSON", s.whole, s.lean, s.json)
}

func (c *controlPlane) sizeOfAPod(ctx context.Context) (podSize, error) {
	p := placeOf(0, 0)
	pod, err := c.client.CoreV1().Pods(p.namespace).Get(ctx, p.name, metav1.GetOptions{})
	if err != nil {
		return podSize{}, err
	}
	text, err := c.client.CoreV1().RESTClient().Get().Namespace(p.namespace).Resource("pods").Name(p.name).
		SetHeader("Accept", asJSON).DoRaw(ctx)
	size := podSize{whole: pod.Size(), json: len(text)}
	pod.ManagedFields = nil
	size.lean = pod.Size()
	return size, err
}

// podOf returns the pod with a number: a web server with a proxy sidecar, as a Deployment creates it.
func podOf(number, pods int) *corev1.Pod {
	p := placeOf(number, pods)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       p.namespace,
			Name:            p.name,
			GenerateName:    appOf(number) + "-7d9c5b8f6d-",
			Labels:          labelsOf(number),
			Annotations:     annotationsOf(number),
			OwnerReferences: []metav1.OwnerReference{ownerOf(number)},
		},
		Spec: corev1.PodSpec{
			NodeName:                      nodeOf(number, pods),
			ServiceAccountName:            "default",
			Containers:                    []corev1.Container{webServer(number), proxy()},
			Volumes:                       volumesOf(number),
			Tolerations:                   tolerations(),
			SecurityContext:               &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), FSGroup: ptr.To[int64](2000)},
			TerminationGracePeriodSeconds: ptr.To[int64](45),
		},
	}
}

func labelsOf(number int) map[string]string {
	return map[string]string{
		"app":                          appOf(number),
		"app.kubernetes.io/name":       appOf(number),
		"app.kubernetes.io/part-of":    fmt.Sprintf("product-%d", number%20),
		"app.kubernetes.io/managed-by": "Helm",
		"pod-template-hash":            "7d9c5b8f6d",
	}
}

func annotationsOf(number int) map[string]string {
	return map[string]string{
		changeAnnotation:                    unchanged,
		"prometheus.io/scrape":              "true",
		"checksum/config":                   fmt.Sprintf("%064x", 0xc0ffee+number),
		"kubectl.kubernetes.io/restartedAt": "2026-03-01T09:30:00Z",
	}
}

func ownerOf(number int) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: appOf(number) + "-7d9c5b8f6d",
		UID:        types.UID(fmt.Sprintf("6f1c2b7e-9a54-4d3b-8e21-%012d", number%apps)),
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}

func webServer(number int) corev1.Container {
	return corev1.Container{
		Name:  "server",
		Image: "registry.example.com/products/" + appOf(number) + ":2.14.3",
		Args:  []string{"--listen=:8080", "--metrics=:9090", "--config=/etc/server/config.yaml", "--log-format=json"},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9090}},
		Env: append(podEnv(),
			corev1.EnvVar{Name: "DATABASE_URL", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: appOf(number) + "-database"}, Key: "url"}}},
			corev1.EnvVar{Name: "TRACE_ENDPOINT", Value: "http://collector.observability.svc.cluster.local:4317"},
		),
		Resources: resources("250m", "256Mi", "1", "512Mi"),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/server", ReadOnly: true},
			{Name: "certificates", MountPath: "/etc/certificates", ReadOnly: true},
			{Name: "scratch", MountPath: "/tmp"},
		},
		ReadinessProbe:  probe("/readyz", 5, 3),
		SecurityContext: restrictedSecurityContext(),
	}
}

func proxy() corev1.Container {
	return corev1.Container{
		Name:         "proxy",
		Image:        "registry.example.com/mesh/proxy:1.27.1",
		Args:         []string{"proxy", "sidecar", "--domain", "$(POD_NAMESPACE).svc.cluster.local", "--concurrency", "2"},
		Ports:        []corev1.ContainerPort{{Name: "proxy-status", ContainerPort: 15021}},
		Resources:    resources("100m", "128Mi", "2", "1Gi"),
		VolumeMounts: []corev1.VolumeMount{{Name: "certificates", MountPath: "/etc/certificates", ReadOnly: true}},
	}
}

func podEnv() []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, field := range [][2]string{{"POD_NAME", "metadata.name"}} {
		env = append(env, corev1.EnvVar{Name: field[0], ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: field[1]}}})
	}
	return env
}

func resources(cpu, memory, maxCPU, maxMemory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		},
		Limits: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(maxCPU), corev1.ResourceMemory: resource.MustParse(maxMemory),
		},
	}
}

func probe(path string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromInt32(8080), Scheme: corev1.URISchemeHTTP}},
		InitialDelaySeconds: 5, TimeoutSeconds: 2, PeriodSeconds: period, SuccessThreshold: 1, FailureThreshold: failures,
	}
}

func restrictedSecurityContext() *corev1.SecurityContext {
	return &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true)}
}

func volumesOf(number int) []corev1.Volume {
	return []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: appOf(number) + "-config"}}}},
		{Name: "certificates", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: appOf(number) + "-certificates"}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
}

func tolerations() []corev1.Toleration {
	return []corev1.Toleration{{
		Key: "workload", Operator: corev1.TolerationOpEqual, Value: "web", Effect: corev1.TaintEffectNoSchedule,
	}}
}

// statusOf returns the status that a kubelet reports for a running pod.
func statusOf(pod *corev1.Pod, number int) corev1.PodStatus {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	address := fmt.Sprintf("10.%d.%d.%d", 1+number>>16, number>>8&255, number&255)
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &now, QOSClass: corev1.PodQOSBurstable,
		HostIP: "192.0.2.10", HostIPs: []corev1.HostIP{{IP: "192.0.2.10"}},
		PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
	}
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for i, container := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: true, Started: ptr.To(true),
			ImageID:     fmt.Sprintf("registry.example.com/images@sha256:%064x", 0xbeef+i),
			ContainerID: fmt.Sprintf("containerd://%064x", number*2+i+1),
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return status
}
