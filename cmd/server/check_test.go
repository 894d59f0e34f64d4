package main

import (
	"crypto/x509"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/cmd/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/cmd/server/preflight"
)

func TestCheck_ReportsTheCertificate(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		begins, expires time.Duration
		names           []string
		outcome         preflight.Outcome
		says            string
	}{
		"valid":         {-time.Hour, 100 * 24 * time.Hour, []string{"a.example"}, preflight.OK, "for a.example, expires in 100 days"},
		"expiring":      {-100 * time.Hour, 5 * time.Hour, []string{"a.example"}, preflight.Warning, "expires in 5 hours"},
		"expired":       {-100 * time.Hour, -time.Hour, []string{"a.example"}, preflight.Failed, "has expired at"},
		"not yet valid": {time.Hour, 100 * time.Hour, []string{"a.example"}, preflight.Failed, "is valid only from"},
		"without names": {-time.Hour, 100 * time.Hour, nil, preflight.Failed, "is for no DNS name"},
	} {
		t.Run(name, func(t *testing.T) {
			s := certificateFiles(t, &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(test.begins), NotAfter: now.Add(test.expires + time.Minute), DNSNames: test.names})
			got := checkCertificate(s, now)
			if got.Outcome != test.outcome || !strings.Contains(got.Found, test.says) {
				t.Errorf("%+v, want %s with %q", got, test.outcome, test.says)
			}
			if got.Outcome != preflight.OK && (got.Consequence == "" || got.Remedy == "") {
				t.Errorf("%+v has no consequence or remedy", got)
			}
		})
	}
	missing := checkCertificate(config.Settings{CertFile: "no-file", KeyFile: "no-file"}, now)
	if missing.Outcome != preflight.Failed || !strings.Contains(missing.Found, "no-file") {
		t.Errorf("a file that does not exist: %+v", missing)
	}
}

// certificateFiles returns settings with the files of a certificate that is made from a template.
func certificateFiles(t *testing.T, template *x509.Certificate) config.Settings {
	t.Helper()
	certificate, key := servertest.Signed(t, template)
	folder := t.TempDir()
	s := config.Settings{CertFile: filepath.Join(folder, "tls.crt"), KeyFile: filepath.Join(folder, "tls.key")}
	for path, content := range map[string]string{s.CertFile: certificate, s.KeyFile: key} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestCheck_StopsAtWhatOthersNeed uses an API server that rejects the credential.
func TestCheck_StopsAtWhatOthersNeed(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/version" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`))
			return
		}
		_, _ = w.Write([]byte(`{"gitVersion":"v1.37.0"}`))
	}))
	defer api.Close()
	home := atHome(t, map[string]string{"config": strings.ReplaceAll(kubeconfig, "http://one.example", api.URL)})
	var printed strings.Builder
	err := runCheck(t.Context(), []string{"--output=json", "--kubeconfig", filepath.Join(home, "config")}, &printed)
	if err == nil || !strings.Contains(err.Error(), "1 of 8 checks failed") {
		t.Errorf("error is %v", err)
	}
	var result struct {
		OK     bool
		Checks []preflight.Result
	}
	if err := json.Unmarshal([]byte(printed.String()), &result); err != nil || result.OK {
		t.Fatalf("%v: %s", err, printed.String())
	}
	outcomes := ""
	for _, one := range result.Checks {
		outcomes += one.Check + " " + string(one.Outcome) + "\n"
	}
	const want = "configuration ok\nopen files ok\ncertificate ok\nconnection ok\nAPI server TLS warning\nclock ok\ncredential failed\npermissions skipped\n"
	if outcomes != want {
		t.Errorf("got\n%swant\n%s", outcomes, want)
	}
}

func TestCheck_CollectsTheCommandsOfAllResults(t *testing.T) {
	missing := func(resource string, powerful bool) *preflight.Permissions {
		return &preflight.Permissions{Powerful: powerful, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"list"},
		}}}
	}
	text := describeResults([]preflight.Result{
		{Check: "credential", Outcome: preflight.OK, Found: "the service is jane", User: "jane"},
		{Check: "a", Outcome: preflight.Failed, Found: "found", Consequence: "Broken.", Remedy: "Mend it.", Missing: missing("pods", false)},
		{Check: "b", Outcome: preflight.Failed, Missing: missing("nodes", false)},
		{Check: "c", Outcome: preflight.Warning, Missing: missing("users", true)},
	})
	for _, want := range []string{
		"ok       credential  the service is jane\nfailed   a           found\n                     Broken.\n                     Fix: Mend it.\n",
		"1 ok, 1 warning, 2 failed\n", "  - pods\n  - nodes\n  verbs:\n  - list\n",
		"as powerful as an administrator", "- apiGroup: rbac.authorization.k8s.io\n  kind: User\n  name: jane\nEOF\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q: %s", want, text)
		}
	}
	if got := strings.Count(text, "kubectl auth reconcile"); got != 2 {
		t.Errorf("%d commands, want 2: %s", got, text)
	}
}
