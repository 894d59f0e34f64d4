package simulate

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet/remote"
)

// startKubelets serves the requests to the kubelets of all nodes until stop is called.
func (s *Simulation) startKubelets() (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.serveLog)
	streams := remote.NewServer(s.lookup)
	streams.Register(mux)
	server := httptest.NewTLSServer(mux)
	address, _ := url.Parse(server.URL) // the server listens, so its address is valid
	s.kubeletPort = int32(netip.MustParseAddrPort(address.Host).Port())
	return func() {
		streams.Close()
		server.CloseClientConnections()
		server.Close()
	}
}
