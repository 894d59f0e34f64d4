package kubeapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// clientOf returns a client of a service with a token.
func clientOf(t *testing.T, service *harness.Service, token string) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: service.Address, BearerToken: token, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestStreams_EndWithThePermission revokes the permission of open streams: of a watch from the cache, of a watch that is passed on, and
// of a command in a container.
func TestStreams_EndWithThePermission(t *testing.T) {
	t.Parallel()
	pods := kit.NewLoggingPods(t)
	ctx, namespace := pods.Ctx, pods.Namespace
	pods.Start("one", kit.Labels{}, "main")
	service := kit.StartForCallers(t, "--recheck-interval", "1s")
	account := kit.NewAccount(ctx, t, namespace, "reader")
	revoke := kit.GrantEverywhere(t, account,
		rbacv1.PolicyRule{Verbs: []string{"list", "watch"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
		rbacv1.PolicyRule{Verbs: []string{"get", "create"}, APIGroups: []string{""}, Resources: []string{"pods", "pods/exec"}})
	token := account.Token()
	client := clientOf(t, service, token)
	kit.Eventually(ctx, t, "the caller has the permission", func() error {
		_, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		return err
	})
	ended := make(chan string, 3)
	for name, accept := range map[string]string{"a watch from the cache": "application/json", "a watch that is passed on": "application/json;as=Table;g=meta.k8s.io;v=v1"} {
		watch := read{caller: caller{"reader", token}, method: http.MethodGet, path: "/api/v1/configmaps", query: url.Values{"watch": {"1"}, "resourceVersion": {"0"}}, accept: accept}
		opened := watch.open(ctx, t, serviceClient(t), service.Address)
		if opened.status != http.StatusOK || opened.isCached != (accept == "application/json") {
			t.Fatalf("%s: status %d, from the cache: %t", name, opened.status, opened.isCached)
		}
		go func() {
			opened.awaitEnd(ctx)
			ended <- name
		}()
	}
	served := kit.NewCertificate(t)
	secure := kit.StartForCallers(t, "--recheck-interval", "1s", "--tls-cert-file", served.CertFile, "--tls-private-key-file", served.KeyFile)
	command := kit.Cluster(t).Kubectl(ctx, "--kubeconfig", printedKubeconfig(ctx, t, secure, account, served), "--namespace", namespace,
		"exec", "--stdin", "one", "--", "cat")
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = input.Close() }()
	var printed bytes.Buffer
	command.Stderr = &printed
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(ctx, t, "the command runs", func() error {
		if pods.Kubelet.Container(namespace, "one", "main").Sessions() == 0 {
			return fmt.Errorf("it does not run: %s", printed.String())
		}
		return nil
	})
	go func() {
		_ = command.Wait()
		ended <- "a command"
	}()
	select {
	case name := <-ended:
		t.Fatalf("%s has ended before the permission was revoked", name)
	default:
	}
	revoke()
	for range cap(ended) {
		select {
		case <-ended:
		case <-ctx.Done():
			t.Fatal("a stream continues: ", context.Cause(ctx))
		}
	}
	if _, err := client.CoreV1().ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: "0"}); !apierrors.IsForbidden(err) {
		t.Errorf("another watch: error %v, want Forbidden", err)
	}
	if _, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"}); !apierrors.IsForbidden(err) {
		t.Errorf("a list: error %v, want Forbidden", err)
	}
}

// TestPassedOn_RequestsAreTheCallers sends what only the service may send, or what an API server takes for another caller.
func TestPassedOn_RequestsAreTheCallers(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	service := kit.StartForCallers(t)
	account := kit.NewAccount(ctx, t, namespace, "nobody")
	token := account.Token()
	for name, headers := range map[string]http.Header{
		"impersonation":                  {"Impersonate-User": {"admin"}, "Impersonate-Group": {"system:masters"}},
		"impersonation, as hop-by-hop":   {"Impersonate-User": {"admin"}, "Connection": {"Impersonate-User"}},
		"authorization, as hop-by-hop":   {"Connection": {"Authorization"}},
		"front proxy":                    {"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}},
		"forwarded":                      {"X-Forwarded-For": {"10.0.0.1"}, "X-Forwarded-User": {"admin"}},
		"another method":                 {"X-Http-Method-Override": {"DELETE"}},
		"an upgrade of a read":           {"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}},
		"an upgrade to another protocol": {"Connection": {"Upgrade"}, "Upgrade": {"h2c"}, "Http2-Settings": {""}},
	} {
		for _, path := range []string{
			"/api/v1/namespaces/" + namespace + "/secrets",
			"/api/v1/namespaces/" + namespace + "/configmaps?resourceVersion=0",
			"/api/v1/namespaces/" + namespace + "/configmaps?watch=1",
			"/api/v1/nodes",
			"/api/v1/namespaces/" + namespace + "/%63onfigmaps",
			"/api/v1/namespaces/" + namespace + "/pods/any/exec?command=ls",
		} {
			t.Run(name+" "+path, func(t *testing.T) {
				headers := headers.Clone()
				headers.Set("Authorization", "Bearer "+token)
				if status := rawStatus(ctx, t, service, http.MethodGet+" "+path, headers); status != http.StatusForbidden && status != http.StatusBadRequest {
					t.Errorf("status %d, want 403", status)
				}
			})
		}
	}
}

// TestPassedOn_StreamsAreCharged opens streams that the API server serves, in the deprecated form of a path, as a caller who reads none
// of them. What the API server can send ahead is charged to the caller, so that the streams end long before the 2,000 of a credential.
func TestPassedOn_StreamsAreCharged(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	account := kit.NewAccount(ctx, t, namespace, "reader")
	account.GrantIn(namespace, "reader", kit.Rule("configmaps", "watch"))
	service := kit.StartForCallers(t, "--memory-limit", "512Mi")
	stream := read{caller: caller{"reader", account.Token()}, method: http.MethodGet, path: "/api/v1/watch/namespaces/" + namespace + "/configmaps"}
	const mostStreams = 100 // of 288 KiB, in two fifths of half of a quarter of the limit
	client, status := serviceClient(t), 0
	kit.Eventually(ctx, t, "the permission is effective", func() error {
		if status = stream.openUnread(ctx, t, client, service.Address); status != http.StatusOK {
			return fmt.Errorf("status %d", status)
		}
		return nil
	})
	opened := 1
	for ; status == http.StatusOK && opened <= mostStreams; opened++ {
		status = stream.openUnread(ctx, t, client, service.Address)
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("after %d streams the status is %d, want 429", opened, status)
	}
	t.Logf("stream %d was rejected", opened)
}

// openUnread opens a stream, which stays open until the test ends, and returns its status.
func (r read) openUnread(ctx context.Context, t *testing.T, client *http.Client, address string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, r.method, address+r.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+r.caller.token)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response.StatusCode
}

// rawStatus sends a request line and headers as they are, and returns the status of the response.
func rawStatus(ctx context.Context, t *testing.T, service *harness.Service, line string, headers http.Header) int {
	t.Helper()
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", kit.HostPort(service))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = connection.SetDeadline(deadline)
	}
	var request strings.Builder
	fmt.Fprintf(&request, "%s HTTP/1.1\r\nHost: %s\r\n", line, kit.HostPort(service))
	_ = headers.Write(&request)
	request.WriteString("\r\n")
	if _, err := io.WriteString(connection, request.String()); err != nil {
		t.Fatal(err)
	}
	text, err := textproto.NewReader(bufio.NewReader(connection)).ReadLine()
	if err != nil {
		t.Fatal(err)
	}
	var status int
	if _, err := fmt.Sscanf(text, "HTTP/1.1 %d", &status); err != nil {
		t.Fatalf("the response begins with %q", text)
	}
	return status
}

// TestRead_PassesOnNothingThatChanges uses a service with --kube-api read, as its administrator.
func TestRead_PassesOnNothingThatChanges(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--kube-api", "read")
	pod := "/api/v1/namespaces/" + namespace + "/pods/any"
	upgrade := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
	for line, test := range map[string]struct {
		headers http.Header
		want    int
	}{
		"GET /api/v1/namespaces":                          {want: http.StatusOK},
		"GET /version":                                    {want: http.StatusOK},
		"GET /apis":                                       {want: http.StatusOK},
		"GET " + pod:                                      {want: http.StatusNotFound},
		"DELETE " + pod:                                   {want: http.StatusForbidden},
		"GET " + pod + "/exec?command=ls":                 {want: http.StatusForbidden},
		"GET " + pod + "/exec?command=ls ":                {want: http.StatusForbidden, headers: upgrade},
		"GET " + pod + "/%65xec?command=ls":               {want: http.StatusForbidden, headers: upgrade},
		"GET " + pod + "/status/%2e%2e/exec?command=ls":   {want: http.StatusForbidden, headers: upgrade},
		"GET /api/v1/proxy/namespaces/a/services/b":       {want: http.StatusForbidden},
		"GET " + pod + "/portforward":                     {want: http.StatusForbidden},
		"GET " + pod + "/log":                             {want: http.StatusNotFound},
		"GET /api/v1/namespaces?watch=1&timeoutSeconds=1": {want: http.StatusForbidden, headers: upgrade},
	} {
		t.Run(line, func(t *testing.T) {
			if status := rawStatus(ctx, t, service, strings.TrimSpace(line), test.headers); status != test.want {
				t.Errorf("status %d, want %d", status, test.want)
			}
		})
	}
}

// TestImpersonation_IsNeverIgnored asks the service to act as another user, who may do nothing. The caller may impersonate everyone, and may
// do everything itself.
func TestImpersonation_IsNeverIgnored(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	account := kit.NewAccount(ctx, t, namespace, "master")
	kit.GrantEverywhere(t, account, rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}})
	for name, service := range map[string]*harness.Service{
		"by token":               kit.StartForCallers(t),
		"by impersonation":       kit.StartForCallers(t, "--write-as", "impersonate"),
		"without authentication": harness.StartService(t, kit.Cluster(t).Kubeconfig),
	} {
		for _, line := range []string{
			"GET /api/v1/namespaces/" + namespace + "/configmaps?resourceVersion=0", "GET /api/v1/namespaces/" + namespace + "/configmaps?watch=1",
			"DELETE /api/v1/namespaces/" + namespace + "/configmaps/kube-root-ca.crt", "GET /api/v1/namespaces/" + namespace + "/pods/any/exec?command=ls",
		} {
			t.Run(name+" "+line, func(t *testing.T) {
				headers := http.Header{"Impersonate-User": {"nobody"}, "Authorization": {"Bearer " + account.Token()}}
				if status := rawStatus(ctx, t, service, line, headers); status != http.StatusForbidden {
					t.Errorf("status %d, want 403", status)
				}
				headers.Del("Impersonate-User")
				headers.Set("Impersonate-Group", "system:masters") // without a user
				if status := rawStatus(ctx, t, service, line, headers); status < http.StatusBadRequest {
					t.Errorf("a group alone: status %d, want an error", status)
				}
			})
		}
		if name == "by impersonation" {
			continue
		}
		headers := http.Header{"Impersonate-User": {account.User()}, "Authorization": {"Bearer " + account.Token()}}
		if status := rawStatus(ctx, t, service, "GET /api/v1/namespaces/"+namespace+"/configmaps", headers); status != http.StatusOK {
			t.Errorf("%s, as a user who may: status %d, want 200", name, status)
		}
	}
}

// TestOff_ServesNothing uses a service with --kube-api off.
func TestOff_ServesNothing(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--kube-api", "off")
	for _, path := range []string{"/api", "/api/v1/namespaces", "/apis/apps/v1/deployments", "/version", "/openapi/v3"} {
		if status := rawStatus(ctx, t, service, "GET "+path, nil); status != http.StatusNotFound {
			t.Errorf("GET %s: status %d, want 404", path, status)
		}
	}
}

// TestWebSocket_TokensOfPagesAreRead sends a token as pages send it.
func TestWebSocket_TokensOfPagesAreRead(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	service := kit.StartForCallers(t)
	account := kit.NewAccount(ctx, t, namespace, "reader")
	headers := func(token string) http.Header {
		return http.Header{
			"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
			"Sec-Websocket-Protocol": {"base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(token)) + ", v5.channel.k8s.io"},
		}
	}
	path := "GET /api/v1/namespaces/" + namespace + "/pods/any/exec?command=ls"
	if status := rawStatus(ctx, t, service, path, headers("invalid")); status != http.StatusUnauthorized {
		t.Errorf("an invalid token: status %d, want 401", status)
	}
	if status := rawStatus(ctx, t, service, path, headers(account.Token())); status != http.StatusForbidden {
		t.Errorf("a token without permissions: status %d, want 403", status)
	}
}
