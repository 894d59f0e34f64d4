package deploy_test

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// deploymentOfChart renders the Deployment with some values in addition to the required ones.
func deploymentOfChart(t *testing.T, overrides values) *appsv1.Deployment {
	t.Helper()
	return ofKind[appsv1.Deployment](t, release{"r", "n", with(overrides)}.manifests(t), "Deployment")[0]
}

func containerOfChart(t *testing.T, overrides values) corev1.Container {
	t.Helper()
	return deploymentOfChart(t, overrides).Spec.Template.Spec.Containers[0]
}

// TestPodTemplate_IsTheSameInTheNextVersionOfTheChart is about upgrades: a change of the pod
// template replaces all pods.
func TestPodTemplate_IsTheSameInTheNextVersionOfTheChart(t *testing.T) {
	t.Parallel()
	installed := release{"r", "n", with(values{"image": values{"tag": "1.2.3"}})}
	chart, err := loadChart()
	succeeds(t, err)
	chart.Metadata.Version, chart.Metadata.AppVersion = "99.0.0", "99.0.0"
	upgraded, err := installed.filesOf(chart)
	succeeds(t, err)
	before := ofKind[appsv1.Deployment](t, installed.manifests(t), "Deployment")[0]
	after := into[appsv1.Deployment](t, parse(t, upgraded["kubeconnect/templates/deployment.yaml"])[0])
	if !reflect.DeepEqual(before.Spec, after.Spec) {
		t.Errorf("the pod labels change from %v to %v", before.Spec.Template.Labels, after.Spec.Template.Labels)
	}
	if reflect.DeepEqual(before.Labels, after.Labels) {
		t.Error("the Deployment has no version label")
	}
}

// TestPodTemplate_DoesNotChangeWithLimitsAndLevels is about upgrades too: the service reads these
// values from the ConfigMap while it runs.
func TestPodTemplate_DoesNotChangeWithLimitsAndLevels(t *testing.T) {
	t.Parallel()
	changed := values{
		"limits":      values{"streams": 3_000_000, "credentialStreams": 1, "requestRate": 2, "requestBurst": 3, "calls": 4},
		"connections": values{"max": 5, "maxPerAddress": 6}, "logLevel": "debug", "logSample": 0.5,
	}
	if !reflect.DeepEqual(deploymentOfChart(t, nil).Spec, deploymentOfChart(t, changed).Spec) {
		t.Error("the pods are replaced")
	}
	const want = `apiVersion: kubeconnect.io/v1alpha1
kind: Configuration
callerMaxStreams: 3000000
credentialMaxStreams: 1
callerRequestRate: 2
callerRequestBurst: 3
callerMaxCalls: 4
maxConnections: 5
maxConnectionsPerAddress: 6
logLevel: debug
logSample: 0.5
`
	if got := ofKind[corev1.ConfigMap](t, release{"r", "n", with(changed)}.manifests(t), "ConfigMap")[0].Data["config.yaml"]; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestPodTemplate_ChangesWithTheAuditPolicy is about upgrades too: the service reads the policy at its start only.
func TestPodTemplate_ChangesWithTheAuditPolicy(t *testing.T) {
	t.Parallel()
	withVerb := func(verb string) values {
		return values{"auditLog": "-", "auditPolicy": values{"omitStages": []any{"ResponseStarted"}, "rules": []any{values{"level": "Metadata", "verbs": []any{verb}}}}}
	}
	if reflect.DeepEqual(deploymentOfChart(t, withVerb("get")).Spec, deploymentOfChart(t, withVerb("list")).Spec) {
		t.Error("the pods are not replaced")
	}
	const want = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages:
- ResponseStarted
rules:
- level: Metadata
  verbs:
  - get
`
	if got := ofKind[corev1.ConfigMap](t, release{"r", "n", with(withVerb("get"))}.manifests(t), "ConfigMap")[0].Data["audit-policy.yaml"]; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPodTemplate_NamesTheImage(t *testing.T) {
	t.Parallel()
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for name, test := range map[string]struct {
		image values
		want  string
	}{
		"by default":          {nil, "images.example/kubeconnect:0.1.0"},
		"by tag":              {values{"tag": "v1"}, "images.example/kubeconnect:v1"},
		"by digest":           {values{"digest": digest}, "images.example/kubeconnect@" + digest},
		"by tag, with digest": {values{"tag": "v1", "digest": digest}, "images.example/kubeconnect:v1@" + digest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overrides := values{}
			if test.image != nil {
				overrides["image"] = test.image
			}
			if got := containerOfChart(t, overrides).Image; got != test.want {
				t.Errorf("image %s, want %s", got, test.want)
			}
		})
	}
}

// TestPodTemplate_GivesThePodTimeToDrain adds up the durations of a pod's termination.
func TestPodTemplate_GivesThePodTimeToDrain(t *testing.T) {
	t.Parallel()
	found := regexp.MustCompile(`shutdownTimeout = (\d+) \* time.Second`).FindStringSubmatch(read(t, "cmd/server/shutdown.go"))
	if found == nil {
		t.Fatal("shutdownTimeout not found in cmd/server/shutdown.go")
	}
	calls, err := strconv.ParseInt(found[1], 10, 64)
	succeeds(t, err)
	for name, overrides := range map[string]values{"by default": nil, "behind a slow load balancer": {"termination": values{"preStopSeconds": 90}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := deploymentOfChart(t, overrides).Spec.Template.Spec
			waits, grace := pod.Containers[0].Lifecycle.PreStop.Sleep.Seconds, *pod.TerminationGracePeriodSeconds
			if least := waits + calls + 5; grace < least {
				t.Errorf("terminationGracePeriodSeconds %d, want at least %d", grace, least)
			}
		})
	}
}

// TestPodTemplate_ToleratesSlowProbes is about a pod with few processors, or one that is starting:
// its response may take longer than Kubernetes' default of one second.
func TestPodTemplate_ToleratesSlowProbes(t *testing.T) {
	t.Parallel()
	container := containerOfChart(t, nil)
	for name, probe := range map[string]*corev1.Probe{"startup": container.StartupProbe, "liveness": container.LivenessProbe, "readiness": container.ReadinessProbe} {
		if probe.TimeoutSeconds < 5 {
			t.Errorf("timeout of the %s probe %d s", name, probe.TimeoutSeconds)
		}
	}
	if kill := container.LivenessProbe.PeriodSeconds * container.LivenessProbe.FailureThreshold; kill < 60 {
		t.Errorf("the pod is killed after %d s without a response", kill)
	}
	set := containerOfChart(t, values{"probes": values{"readiness": values{"timeoutSeconds": 11}, "liveness": values{"periodSeconds": 12, "failureThreshold": 13}}})
	if set.ReadinessProbe.TimeoutSeconds != 11 || set.LivenessProbe.PeriodSeconds != 12 || set.LivenessProbe.FailureThreshold != 13 {
		t.Errorf("probes %+v and %+v", set.ReadinessProbe, set.LivenessProbe)
	}
}

func TestPodTemplate_HasExtraVariablesAndVolumes(t *testing.T) {
	t.Parallel()
	for name, overrides := range map[string]values{"over TLS": {}, "in plain text": {"tls": values{"mode": "off"}}, "without a limit": {"resources": values{"limits": nil}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := deploymentOfChart(t, overrides).Spec.Template.Spec
			pod := deploymentOfChart(t, withExtras(overrides)).Spec.Template.Spec
			container := pod.Containers[0]
			if env := container.Env; len(env) != len(plain.Containers[0].Env)+1 || env[len(env)-1].Name != "GODEBUG" {
				t.Errorf("variables %+v", env)
			}
			if mounts := container.VolumeMounts; len(mounts) != len(plain.Containers[0].VolumeMounts)+1 || mounts[len(mounts)-1].MountPath != "/authorities" {
				t.Errorf("mounts %+v", mounts)
			}
			if volumes := pod.Volumes; len(volumes) != len(plain.Volumes)+1 || volumes[len(volumes)-1].ConfigMap.Name != "authorities" {
				t.Errorf("volumes %+v", volumes)
			}
		})
	}
}

// withExtras returns values with all extra variables, mounts and volumes of a pod.
func withExtras(overrides values) values {
	all := values{
		"extraEnv":          []any{values{"name": "GODEBUG", "value": "x=1"}},
		"extraVolumes":      []any{values{"name": "authorities", "configMap": values{"name": "authorities"}}},
		"extraVolumeMounts": []any{values{"name": "authorities", "mountPath": "/authorities", "readOnly": true}},
	}
	for name, value := range overrides {
		all[name] = value
	}
	return all
}

// TestPodTemplate_QuotesAmbiguousValues checks values that would be a number, or the
// key of a map, without quotes.
func TestPodTemplate_QuotesAmbiguousValues(t *testing.T) {
	t.Parallel()
	pod := deploymentOfChart(t, values{"auth": values{"audiences": []any{"urn:state:"}}, "priorityClassName": "1"}).Spec.Template.Spec
	if args := pod.Containers[0].Args; !slices.Contains(args, "--auth-audience=urn:state:") || pod.PriorityClassName != "1" {
		t.Errorf("flags %q, priority class %q", args, pod.PriorityClassName)
	}
}

// TestReplicas_AreLeftToAnAutoscaler checks that null omits the number of replicas, because each
// upgrade would reset it otherwise.
func TestReplicas_AreLeftToAnAutoscaler(t *testing.T) {
	t.Parallel()
	if replicas := deploymentOfChart(t, values{"replicaCount": nil}).Spec.Replicas; replicas != nil {
		t.Errorf("%d replicas, want none in the manifest", *replicas)
	}
	if replicas := deploymentOfChart(t, values{"replicaCount": 0}).Spec.Replicas; replicas == nil || *replicas != 0 {
		t.Errorf("%v replicas, want 0", replicas)
	}
}
