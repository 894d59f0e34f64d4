package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// TestBrowserDoesNotTellAPageOfAnotherSiteWhetherAReadSucceeds has a page embed a read that
// succeeds for programs, and one that does not: an <object> tells its page which is which.
func TestBrowserDoesNotTellAPageOfAnotherSiteWhetherAReadSucceeds(t *testing.T) {
	t.Parallel()
	ctx, service := deadline(t), harness.StartService(t, cluster(t).Kubeconfig)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
	}))
	defer site.Close()
	page := strings.Replace(site.URL, "127.0.0.1", "localhost", 1) // which is another site than 127.0.0.1
	read := func(message string) string {
		return service.Address + listPath + "?connect=v1&encoding=json&message=" + url.QueryEscape(message)
	}
	browser := startProgram(t, nodeProgram("browser", "embed.mjs"), page,
		read(`{"resource":"namespaces"}`), read(`{"resource":"namespaces","orderBy":"metadata"}`))
	var told struct{ Events []string }
	browser.tells(ctx, "embedded", &told)
	if want := []string{"error", "error"}; !slices.Equal(told.Events, want) {
		t.Errorf("the page is told %v, want %v", told.Events, want)
	}
	browser.ends(ctx)
}
