package kubeapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// apiClients are programs that use other clients of Kubernetes' API, with the steps that they print. The steps are those that the same
// program prints at the API server.
var apiClients = map[string]struct {
	program func(t *testing.T) []string
	steps   string
}{
	"the official Python client": {
		func(t *testing.T) []string { return kit.PythonProgram(t, "python", "kubernetes_official.py") },
		readSteps + `{"step": "watched", "events": ["ADDED early", "MODIFIED early", "DELETED early"]}
` + followedStep + failedSteps + `{"step": "custom", "spec": {"color": "blue"}, "names": ["mine"]}
{"step": "dynamic", "events": ["ADDED mine", "DELETED mine"]}
{"step": "executed", "typed": "typed", "text": "hello\n", "code": 0}
{"step": "log", "text": "first line\n"}
{"step": "followed log", "text": "first line"}
{"step": "forwarded", "text": "from the pod"}
`,
	},
	"kr8s": {
		func(t *testing.T) []string { return kit.PythonProgram(t, "python", "kubernetes_kr8s.py") },
		readSteps + `{"step": "watched", "events": ["ADDED kube-root-ca.crt", "ADDED one", "ADDED three", "ADDED two", "ADDED early", "MODIFIED early", "DELETED early"]}
{"step": "missing"}
{"step": "forbidden", "code": 403, "reason": "Forbidden"}
{"step": "conflict", "code": 409, "reason": "Conflict"}
{"step": "exists", "code": 409, "reason": "AlreadyExists"}
{"step": "custom", "spec": {"color": "blue"}, "names": ["mine"]}
{"step": "deleted", "names": []}
{"step": "executed", "text": "hello\n", "codes": [0, 3]}
{"step": "log", "text": "first line"}
{"step": "forwarded", "text": "from the pod"}
`,
	},
	"the official JavaScript client": {
		func(t *testing.T) []string {
			return []string{kit.CheckoutPath(t, ".cache", "runtimes", "bin", "node22"), kit.CallerPath(t, "node", "kubernetes.mjs")}
		},
		readSteps + `{"step": "watched", "events": ["ADDED early", "MODIFIED early", "DELETED early"]}
` + followedStep + failedSteps + `{"step": "custom", "spec": {"color": "blue"}, "names": ["mine"]}
{"step": "executed", "text": "typed\n", "code": 3}
{"step": "log", "text": "first line\n"}
{"step": "followed log", "text": "first line\n"}
{"step": "forwarded", "text": "from the pod"}
`,
	},
}

const (
	readSteps = `{"step": "listed", "names": ["kube-root-ca.crt", "one", "three", "two"]}
{"step": "selected", "names": ["one", "two"]}
{"step": "got", "data": {"a": "1"}}
`
	followedStep = `{"step": "followed", "calls": ["add kube-root-ca.crt", "add one", "add three", "add two", "add watched", "update watched", "delete watched"], "data": {"a": "2"}, "names": ["kube-root-ca.crt", "one", "three", "two"]}
`
	failedSteps = `{"step": "missing", "code": 404, "reason": "NotFound"}
{"step": "forbidden", "code": 403, "reason": "Forbidden"}
{"step": "conflict", "code": 409, "reason": "Conflict"}
{"step": "exists", "code": 409, "reason": "AlreadyExists"}
{"step": "expired", "code": 400, "reason": "BadRequest"}
`
)

// TestPrograms_WorkAtTheServiceAsAtTheAPIServer runs each program twice, as a caller with a token over TLS: with the kubeconfig that the
// program kubeconnect prints, and with the kubeconfig of the cluster.
func TestPrograms_WorkAtTheServiceAsAtTheAPIServer(t *testing.T) {
	t.Parallel()
	served := kit.NewCertificate(t)
	service := kit.StartForCallers(t, "--tls-cert-file", served.CertFile, "--tls-private-key-file", served.KeyFile)
	for name, client := range apiClients {
		for _, through := range []*harness.Service{service, nil} {
			side := name + " at the service"
			if through == nil {
				side = name + " at the API server"
			}
			t.Run(side, func(t *testing.T) {
				t.Parallel()
				pods := kit.NewLoggingPods(t)
				account, group := prepareProgram(t, pods)
				path := account.Kubeconfig()
				if through != nil {
					path = printedKubeconfig(pods.Ctx, t, through, account, served)
				}
				program := kit.StartProgram(t, client.program(t), path, pods.Namespace, group)
				program.Ends(pods.Ctx)
				want, got := stepsOf(t, client.steps), stepsOf(t, program.Process.Output())
				for i := range max(len(got), len(want)) {
					if i >= len(got) || i >= len(want) || !reflect.DeepEqual(got[i], want[i]) {
						t.Fatalf("step %d differs; output:\n%s\nwant:\n%s", i+1, program.Process.Output(), client.steps)
					}
				}
			})
		}
	}
}

// prepareProgram creates what the programs read, and returns the account that they are.
func prepareProgram(t *testing.T, pods *kit.LoggingPods) (account kit.Account, group string) {
	t.Helper()
	ctx, namespace := pods.Ctx, pods.Namespace
	for name, app := range map[string]string{"one": "web", "two": "web", "three": "db"} {
		createLabelled(ctx, t, namespace, name, app)
	}
	pods.Start("one", nil, "main")[0].Write("first line\n")
	isReady := []byte(`{"status":{"conditions":[{"type":"ContainersReady","status":"True"},{"type":"Ready","status":"True"}]}}`) // kr8s waits for it
	if _, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Patch(ctx, "one", types.StrategicMergePatchType, isReady, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	pods.Kubelet.Listen(namespace, "one", 8080, answerOnce)
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	account = kit.NewAccount(ctx, t, namespace, "program")
	account.GrantIn(namespace, "program", rbacv1.PolicyRule{
		Verbs: []string{"*"}, APIGroups: []string{"", gadgets.Group},
		Resources: []string{"configmaps", "pods", "pods/exec", "pods/log", "pods/portforward", "gadgets"},
	})
	config := rest.AnonymousClientConfig(kit.Cluster(t).Config)
	config.BearerToken = account.Token()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	kit.Eventually(ctx, t, "the caller has its permissions", func() error {
		_, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
		return err
	})
	return account, gadgets.Group
}

func createLabelled(ctx context.Context, t *testing.T, namespace, name, app string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: kit.Labels{"app": app}}, Data: map[string]string{"a": "1"}}
	if _, err := kit.Cluster(t).Client.CoreV1().ConfigMaps(namespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// stepsOf decodes the steps in an output; other lines are ignored.
func stepsOf(t *testing.T, output string) (steps []map[string]any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(onlySteps(output)))
	for decoder.More() {
		var step map[string]any
		if err := decoder.Decode(&step); err != nil {
			t.Fatal(fmt.Errorf("%w in %s", err, output))
		}
		steps = append(steps, step)
	}
	return steps
}

func onlySteps(output string) string {
	var lines []string
	for _, line := range strings.Split(output, "\n") {
		if strings.HasPrefix(line, `{"step"`) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
