package conformance_test

import (
	"regexp"
	"slices"
	"testing"
)

// scope matches the names of the tests that run or have a reason not to.
var scope = regexp.MustCompile(`\[Conformance\]|\[sig-(api-machinery|auth|instrumentation)\]`)

// exclusion is a reason why tests in the scope do not run, and regular expressions for their names.
type exclusion struct {
	reason string
	names  []string
}

// kept are tests that run although their group is left out.
var kept = []string{
	`\[sig-node\] ConfigMap should update ConfigMap successfully`,
	`\[sig-node\] Pods should (be submitted and removed|be updated|get a host IP)`,
	`\[sig-node\] RuntimeClass should schedule a Pod`,
	`\[FeatureGate:ClusterTrustBundleProjection\] CRUD Tests`,
	`\[sig-api-machinery\] AdmissionWebhook .* (match conditions|include webhook resources)`,
}

// leftOut are the tests that do not run, by reason. All nodes of the control plane are simulated: pods become
// Running and ready, those of Jobs become Succeeded, and nothing runs in them.
var leftOut = []exclusion{
	{"runs containers: reads their output or their exit code, or executes commands in them", []string{
		`\[NodeConformance\]`,
		`\[sig-storage\] (EmptyDir|Subpath)`,
		`\[sig-storage\] CSIInlineVolumes should support CSIVolumeSource`,
		`\[sig-node\] (ImageVolume|Pod InPlace Resize|PreStop|Security Context|Variable Expansion)`,
		`\[sig-node\] (ConfigMap|Secrets) should be consumable as environment variable names`,
		`\[sig-auth\] .*\[FeatureGate:ClusterTrustBundleProjection\]`,
		`\[sig-auth\] ServiceAccounts should mount `,
		`\[sig-auth\] ServiceAccounts (should set ownership|should support InClusterConfig|ServiceAccountIssuerDiscovery)`,
		`\[sig-auth\] ValidatingAdmissionPolicy can restrict access by-node`,
		`\[sig-apps\] StatefulSet .*(Scaling should happen in predictable order|Burst scaling|perform rolling updates|perform canary updates)`,
		`\[sig-instrumentation\] Logging soak`,
		`\[sig-cli\] Kubectl (logs|client (Guestbook|Kubectl expose|Update Demo))`,
	}},
	{"calls a server that runs in a pod", []string{
		`\[sig-api-machinery\] AdmissionWebhook`,
		`\[sig-api-machinery\] CustomResourceConversionWebhook`,
		`\[sig-api-machinery\] CustomResourceFieldSelectors`, // converts the custom resources by a webhook
		`1\.17 [Ss]ample-?\s?(API Server|apiserver)`,
		`OpenAPI V3 for Aggregated APIServer`,
		`\[sig-apps\] Replica(Set|tionController) should serve a basic image`,
		`\[sig-network\] Proxy `,
	}},
	{"needs kube-proxy or DNS: sends requests to the addresses of services and pods", []string{
		`\[sig-network\] (DNS|HostPort|Networking) `,
		`\[sig-network\] Services should (have session affinity|be able to switch session affinity|be able to create a functioning|be able to change the type|serve )`,
		`\[sig-network\] EndpointSlice should support a Service with multiple`,
		`\[sig-network\] Service endpoints latency`,
	}},
	{"needs a kubelet", []string{
		`\[sig-apps\] StatefulSet .*Should recreate evicted statefulset`,
		`\[sig-node\] Pods Extended \(pod generation\) .*(start at 1 and increment|issue 500 podspec updates)`,
		`\[sig-auth\] NodeAuthenticator`,
		`\[sig-instrumentation\] Metrics(Grabber)? should grab all metrics from (a K|k)ubelet`,
	}},
	{"needs pods of a Job that fail, or that run for some time: the simulated nodes complete them at once", []string{
		`\[sig-apps\] CronJob should (replace jobs when ReplaceConcurrent|schedule multiple jobs concurrently|not schedule new jobs)`,
		`\[sig-apps\] Job should (adopt matching orphans|allow to use |apply changes to a job status|delete a job)`,
		`\[sig-apps\] Job should (execute all indexes despite some failing|mark indexes as failed|terminate job execution)`,
		`\[sig-apps\] Job with successPolicy .* even when some indexes remain pending`,
	}},
	{"waits until an image cannot be pulled", []string{
		`\[sig-apps\] Deployment deployment should support proportional scaling`,
		`\[sig-apps\] Daemon set should rollback`,
	}},
	{"needs Endpoints of the API server, which the control plane does not maintain, because they cannot be loopback addresses", []string{
		`\[sig-network\] API Server should have Endpoints`,
	}},
	{"takes minutes, and is about the scheduler or a controller, which do not call the address under test", []string{
		`\[sig-scheduling\] Scheduler(Predicates|Preemption (validates|PreemptionExecutionPath))`,
		`\[sig-node\] NoExecuteTaintManager`,
		`\[sig-apps\] CronJob should not schedule jobs when suspended`,
	}},
	{"flaky, as Kubernetes says", []string{
		`\[Flaky\]`,
	}},
	{"needs a feature that is off by default", []string{
		`\[Feature:OffByDefault\]`,
		`\[Feature:(APIServerIdentity|StorageVersionAPI|ComprehensiveNamespaceDraining)\]`,
	}},
	{"needs a cloud provider", []string{
		`\[Provider:gce,aws\]`,
	}},
}

// ofTheAPIServerAlone are the tests that do not run against the service.
var ofTheAPIServerAlone = []exclusion{
	{"reads /metrics or the health checks of the API server, which the service does not pass on", []string{
		`\[sig-api-machinery\] (health handlers|API priority and fairness should ensure that requests can be classified)`,
		`\[sig-instrumentation\] (MetricsGrabber should grab all metrics( slis)? from API server|NativeHistograms)`,
	}},
	{"authenticates by a client certificate, and the service under test does not authenticate callers", []string{
		`\[sig-auth\] Certificates API .* should support building a client with a CSR`,
	}},
	{"expects that a list expires when etcd is compacted: the service continues it", []string{
		`\[sig-api-machinery\] Servers with support for API chunking should support continue listing from the last key`,
	}},
}

// selection returns the names of the tests that run, and the reason for each test in the scope that does not.
func selection(t *testing.T) (names []string, reasons map[string]string) {
	t.Helper()
	all, err := listTests(deadline(t, listTimeout), upstreamBinary(t))
	if err != nil {
		t.Fatal(err)
	}
	reasons = map[string]string{}
	for _, name := range all {
		reason := reasonFor(name)
		switch {
		case !scope.MatchString(name):
		case reason != "":
			reasons[name] = reason
		default:
			names = append(names, name)
		}
	}
	return names, reasons
}

// reasonFor returns why a test is left out, or "" if it runs.
func reasonFor(name string) string {
	if anyMatches(kept, name) {
		return ""
	}
	return reasonIn(leftOut, name)
}

// reasonIn returns why a test is left out by some exclusions, or "" if none names it.
func reasonIn(exclusions []exclusion, name string) string {
	for _, left := range exclusions {
		if anyMatches(left.names, name) {
			return left.reason
		}
	}
	return ""
}

func anyMatches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return compiled(pattern).MatchString(name) })
}

// compiled returns regexp.MustCompile(pattern), and compiles each pattern once.
func compiled(pattern string) *regexp.Regexp {
	if patterns[pattern] == nil {
		patterns[pattern] = regexp.MustCompile(pattern)
	}
	return patterns[pattern]
}

var patterns = map[string]*regexp.Regexp{} // used by one test at a time

// TestSelection_HasNoDeadEntries checks that each pattern decides about a test: without it, that test would run, or
// would be left out, or would have another reason.
func TestSelection_HasNoDeadEntries(t *testing.T) {
	all, err := listTests(deadline(t, listTimeout), upstreamBinary(t))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, name := range all {
		if scope.MatchString(name) {
			for _, pattern := range deciding(name) {
				used[pattern] = true
			}
		}
	}
	dead := slices.Clone(kept)
	for _, left := range leftOut {
		dead = append(dead, left.names...)
	}
	dead = slices.DeleteFunc(dead, func(pattern string) bool { return used[pattern] })
	for _, pattern := range dead {
		t.Errorf("%s decides about no test of this version of Kubernetes: remove it, or correct it", pattern)
	}
}

// deciding returns the patterns that decide about a test: each of kept that matches, if the test would be left out
// otherwise, or the first of leftOut that matches.
func deciding(name string) (patterns []string) {
	for _, left := range leftOut {
		for _, pattern := range left.names {
			if !compiled(pattern).MatchString(name) {
				continue
			}
			for _, keep := range kept {
				if compiled(keep).MatchString(name) {
					patterns = append(patterns, keep)
				}
			}
			if patterns == nil {
				patterns = []string{pattern}
			}
			return patterns
		}
	}
	return nil
}
