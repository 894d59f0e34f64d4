package clients_test

import (
	"context"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestPythonClient_CallsWithTheCredentialsOfAKubeconfig calls as each kind of user, over TLS.
func TestPythonClient_CallsWithTheCredentialsOfAKubeconfig(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	served := kit.NewCertificate(t)
	service := kit.StartForCallers(t, "--tls-cert-file", served.CertFile, "--tls-private-key-file", served.KeyFile)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	account := kit.NewAccount(ctx, t, namespace, "reader")
	pair := kit.Cluster(t).Config.TLSClientConfig
	administrator := administratorsName(ctx, t)
	for name, test := range map[string]struct {
		user clientcmdapi.AuthInfo
		want string
	}{
		"token":                   {clientcmdapi.AuthInfo{Token: account.Token()}, account.User()},
		"token file":              {clientcmdapi.AuthInfo{TokenFile: newTokenFile(t, account.Token())}, account.User()},
		"certificate":             {clientcmdapi.AuthInfo{ClientCertificateData: pair.CertData, ClientKeyData: pair.KeyData}, administrator},
		"certificate files":       {certificateFiles(t, pair.CertData, pair.KeyData), administrator},
		"token of a plugin":       {newPlugin(t, tokenStatus(account.Token(), nil)).user(), account.User()},
		"certificate of a plugin": {newPlugin(t, certificateStatus(pair.CertData, pair.KeyData)).user(), administrator},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			for _, way := range []string{"threads", "asyncio"} {
				caller := startWithKubeconfig(t, newKubeconfig(t, test.user), way, "identify", service.Address, served.CertFile, namespace)
				var identified struct{ Name string }
				caller.Step(ctx, "identified", &identified)
				if identified.Name != test.want {
					t.Errorf("%s: the service knows the program as %q, want %q", way, identified.Name, test.want)
				}
				caller.Ends(ctx)
			}
		})
	}
}

// administratorsName returns the user name of the tests' own certificate.
func administratorsName(ctx context.Context, t *testing.T) string {
	t.Helper()
	reviews := kit.Cluster(t).Client.AuthenticationV1().SelfSubjectReviews()
	review, err := reviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo.Username
}

// TestPythonClient_TrustsNothingOfTheKubeconfigsCluster names the service's authority in the
// kubeconfig only, and turns verification off there.
func TestPythonClient_TrustsNothingOfTheKubeconfigsCluster(t *testing.T) {
	t.Parallel()
	served := kit.NewCertificate(t)
	service := kit.StartTLSService(t, kit.Cluster(t), served)
	for name, cluster := range map[string]*clientcmdapi.Cluster{
		"authority":       {Server: service.Address, CertificateAuthority: served.CertFile},
		"no verification": {Server: service.Address, InsecureSkipTLSVerify: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			kubeconfig := newKubeconfigOf(t, cluster, clientcmdapi.AuthInfo{Token: "unused"})
			for _, way := range []string{"threads", "asyncio"} {
				caller := startWithKubeconfig(t, kubeconfig, way, "fail", service.Address, "", "")
				caller.wantCallFailure(ctx, "Unavailable", "is not trusted")
			}
		})
	}
}

// TestPythonClient_OutlivesTheCredentialsOfAKubeconfig lets a credential expire while a program
// watches, and calls all the time.
func TestPythonClient_OutlivesTheCredentialsOfAKubeconfig(t *testing.T) {
	t.Parallel()
	service := kit.StartForCallers(t)
	for name, start := range map[string]func(*testing.T, kit.Account, time.Time) (user clientcmdapi.AuthInfo, renew func()){
		"plugin with expiry": func(t *testing.T, account kit.Account, expires time.Time) (clientcmdapi.AuthInfo, func()) {
			p := newPlugin(t, tokenStatus(account.ExpiringToken(expires), &expires), tokenStatus(account.Token(), nil))
			return p.user(), func() { p.wantCalls(t, 2) }
		},
		"plugin without expiry": func(t *testing.T, account kit.Account, expires time.Time) (clientcmdapi.AuthInfo, func()) {
			p := newPlugin(t, tokenStatus(account.ExpiringToken(expires), nil), tokenStatus(account.Token(), nil))
			return p.user(), func() { p.wantCalls(t, 2) }
		},
		"token file": func(t *testing.T, account kit.Account, expires time.Time) (clientcmdapi.AuthInfo, func()) {
			file := newTokenFile(t, account.ExpiringToken(expires))
			time.AfterFunc(time.Until(expires)/2, func() { replaceFile(t, file, account.Token()) })
			return clientcmdapi.AuthInfo{TokenFile: file}, func() {}
		},
	} {
		for _, way := range []string{"threads", "asyncio"} {
			t.Run(name+" by "+way, func(t *testing.T) {
				t.Parallel()
				ctx := kit.DeadlineAfter(t, kit.WaitTimeout+kit.CredentialLife)
				namespace, account := newReader(ctx, t, service)
				write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
				write.Create("one", nil)
				user, check := start(t, account, time.Now().Add(kit.CredentialLife))
				caller := startWithKubeconfig(t, newKubeconfig(t, user), way, "follow", service.Address, "", namespace)
				caller.holdsTheValue(ctx, "one", "value", always)

				var lost followedLine
				caller.Step(ctx, "lost", &lost)
				if lost.Kind != "Unauthenticated" {
					t.Errorf("the stream was lost because of %s", lost.Kind)
				}
				write.Touch("one", "touched")
				caller.holdsTheValue(ctx, "one", "touched", always)
				write.Create("end", nil)
				var listed struct{ Calls int }
				caller.Step(ctx, "listed", &listed)
				caller.Ends(ctx)
				if output := caller.Process.Output(); listed.Calls < 2 || strings.Contains(output, `"failed"`) {
					t.Errorf("%d calls; output:\n%s", listed.Calls, output)
				}
				check()
			})
		}
	}
}

// TestPythonClient_ReportsPluginsThatReturnNoCredential calls with plugins that fail, each in one
// way. A call must end at its timeout, although the plugin does not.
func TestPythonClient_ReportsPluginsThatReturnNoCredential(t *testing.T) {
	t.Parallel()
	service := kit.StartForCallers(t)
	for name, test := range map[string]struct{ script, kind, words string }{
		"fails":          {"echo sorry >&2; exit 3", "Unavailable", "failed with exit code 3"},
		"prints garbage": {"echo secret", "Unavailable", "did not print a valid ExecCredential"},
		"prints nothing": {"true", "Unavailable", "did not print a valid ExecCredential"},
		"hangs":          {"sleep 3600", "DeadlineExceeded", "did not end within"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			kubeconfig := newKubeconfig(t, execUser(newScript(t, test.script)))
			for _, way := range []string{"threads", "asyncio"} {
				caller := startWithKubeconfig(t, kubeconfig, way, "fail", service.Address, "", "")
				caller.wantCallFailure(ctx, test.kind, `user "ann"`, test.words)
			}
		})
	}
}

// startWithKubeconfig starts a program that uses a kubeconfig by its environment. The proxy of the
// environment must not be used for a service on this machine.
func startWithKubeconfig(t *testing.T, kubeconfig string, args ...string) program {
	t.Helper()
	command := append([]string{
		"env", "KUBECONFIG=" + kubeconfig, "KUBECONNECT_CONTEXT=" + testContext,
		"http_proxy=http://127.0.0.1:1", "https_proxy=http://127.0.0.1:1",
	}, kit.PythonProgram(t, "python", "kubeconfig.py")...)
	return startProgram(t, command, args...)
}

// wantCallFailure fails the test unless the program's call fails with these words. The error must
// not contain what a plugin prints.
func (p program) wantCallFailure(ctx context.Context, kind string, words ...string) {
	p.t.Helper()
	var failure struct {
		Kind, Message string
		Seconds       float64
	}
	p.Step(ctx, "failed", &failure)
	if failure.Kind != kind || strings.Contains(failure.Message, "secret") {
		p.t.Errorf("the call failed after %v s with %s: %s; want %s", failure.Seconds, failure.Kind, failure.Message, kind)
	}
	kit.WantWords(p.t, failure.Message, words...)
	p.Ends(ctx)
}
