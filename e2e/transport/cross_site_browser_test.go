package transport_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestBrowser_RevealsNothingToOtherSites makes a page of another site, and one of another port,
// guess at a Secret: the status of a response would reveal whether the guess is right. The service
// accepts every caller from this machine.
func TestBrowser_RevealsNothingToOtherSites(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.RemoveAtEnd(ctx, t, namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "guessed"}, StringData: map[string]string{"password": "S3CR3T"}}
	if _, err := kit.Cluster(t).Client.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	right, wrong := guess(t, namespace, "Uz"), guess(t, namespace, "no")
	wantGuessesToDiffer(t, service, right, wrong)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>evil</title><body></body>")
	}))
	t.Cleanup(page.Close)
	_, port, _ := net.SplitHostPort(page.Listener.Addr().String())
	for site, address := range map[string]string{"another site": "http://evil.example:" + port, "another port": page.URL} {
		t.Run(site, func(t *testing.T) {
			browser := kit.StartProgram(t, kit.NodeProgram(t, "browser", "cross-site.mjs"), address, service.Address, right, wrong)
			for _, element := range []string{"object", "embed", "iframe", "img", "script", "link"} {
				var seen struct{ Right, Wrong sight }
				browser.Step(ctx, element, &seen)
				if seen.Right.Page != seen.Wrong.Page {
					t.Errorf("<%s>: the page sees %q after a right guess, and %q after a wrong one", element, seen.Right.Page, seen.Wrong.Page)
				}
				for _, one := range []sight{seen.Right, seen.Wrong} {
					if one.Status != http.StatusForbidden && one.Status != hidden {
						t.Errorf("<%s>: status %d, want 403", element, one.Status)
					}
				}
			}
			browser.Ends(ctx)
		})
	}
}

// hidden is the status of a response that the browser itself has hidden from the page.
const hidden = 0

// sight is what a page sees of a response, and the response's status, which the page does not see.
type sight struct {
	Page   string
	Status int
}

// guess returns the URL of a List that is rejected if the name of the Secret begins with some
// letters: it cannot be ordered by an object. Otherwise the list is empty.
func guess(t *testing.T, namespace, letters string) string {
	t.Helper()
	message, err := json.Marshal(map[string]string{
		"resource": "secrets", "namespace": namespace, "orderBy": "data", "filter": "object.data.password.startsWith('" + letters + "')",
	})
	if err != nil {
		t.Fatal(err)
	}
	return listPath + "?" + url.Values{"connect": {"v1"}, "encoding": {"json"}, "message": {string(message)}}.Encode()
}

// wantGuessesToDiffer fails the test unless a program of this machine can distinguish a right guess
// from a wrong one: otherwise a page that cannot shows nothing. Programs send no Sec-Fetch-Site. If
// the service rejects every GET, there is nothing to distinguish.
func wantGuessesToDiffer(t *testing.T, service *harness.Service, right, wrong string) {
	t.Helper()
	var statuses []string
	for _, path := range []string{right, wrong} {
		answer := kit.Send(kit.Deadline(t), t, harness.HTTP1(t), service.Address+path, http.MethodGet, "", "", kit.ForeignRequest{})
		statuses = append(statuses, answer.Status)
	}
	if statuses[0] == statuses[1] && !strings.HasPrefix(statuses[0], "403") && !strings.HasPrefix(statuses[0], "405") {
		t.Errorf("statuses for a program: %q", statuses)
	}
}
