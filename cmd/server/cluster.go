package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/cert"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/scopes"
	"github.com/kubeconnect/kubeconnect/internal/version"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/memorylimit"
	"github.com/kubeconnect/kubeconnect/server/writes/change"
)

// A silent connection to the API server is checked by a ping after idleSeconds, and closed after
// pingSeconds more: before a review of a caller times out, so that a review which times out on a
// connection shows an API server that is slow, and not one that is away. client-go reads both from the
// environment; its own defaults are 30 and 15.
const (
	idleSeconds = "1"
	pingSeconds = "5"
)

func init() {
	setDefault("HTTP2_READ_IDLE_TIMEOUT_SECONDS", idleSeconds)
	setDefault("HTTP2_PING_TIMEOUT_SECONDS", pingSeconds)
}

func setDefault(name, value string) {
	if _, ok := os.LookupEnv(name); !ok {
		_ = os.Setenv(name, value)
	}
}

// clusterConfig returns the client configuration of the cluster that the settings select.
func clusterConfig(s config.Settings) (*rest.Config, error) {
	cluster, err := findConfig(s)
	if err != nil {
		return nil, err
	}
	cluster.UserAgent = version.UserAgent
	// Compression costs the API server more than the network saves.
	cluster.DisableCompression = true
	return cluster, nil
}

func findConfig(s config.Settings) (*rest.Config, error) {
	if s.Kubeconfig == "" && s.Context == "" {
		if cluster, err := rest.InClusterConfig(); !errors.Is(err, rest.ErrNotInCluster) {
			return cluster, err
		}
	}
	cluster, err := kubeconfigOf(s).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no cluster to serve: set --kubeconfig FILE or KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return cluster, nil
}

// kubeconfigOf returns the kubeconfig that the settings select.
func kubeconfigOf(s config.Settings) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: s.Context}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}

// shownHost returns the address of the API server for logs and administrators, without a password.
func shownHost(cluster *rest.Config) string {
	address, err := url.Parse(cluster.Host)
	if err != nil || address.Host == "" { // without a scheme
		return cluster.Host[strings.LastIndexByte(cluster.Host, '@')+1:]
	}
	return address.Redacted()
}

// newClientCertificateExpiry returns the metric of the client certificate in a configuration. A file is
// read for each request for the metric, because client-go also follows its changes.
func newClientCertificateExpiry(cluster *rest.Config) prometheus.GaugeFunc {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubeconnect_client_certificate_expiry_timestamp_seconds",
		Help: "When the client certificate of --kubeconfig expires, by which the API server knows the service, in Unix time; 0 without one.",
	}, func() float64 {
		certificates, err := cert.ParseCertsPEM(clientCertificate(cluster))
		if err != nil {
			return 0
		}
		return float64(certificates[0].NotAfter.Unix())
	})
}

// clientCertificate returns the client certificate in a configuration, in PEM; nil if there is none.
func clientCertificate(cluster *rest.Config) []byte {
	if cluster.CertFile == "" {
		return cluster.CertData
	}
	data, err := os.ReadFile(cluster.CertFile)
	if err != nil {
		return nil // requests to the API server fail, and are logged
	}
	return data
}

// clientMetrics are client-go's metrics of requests to the API server, under the names that Kubernetes'
// components use. It implements the interfaces of client-go's package metrics.
type clientMetrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	retries   *prometheus.CounterVec
	expiry    prometheus.Gauge
}

// restClientMetrics are the metrics of the process: client-go has one registry. They are registered
// before any client exists, because client-go reads the registry without a lock.
var restClientMetrics = registerClientMetrics()

func registerClientMetrics() *clientMetrics {
	m := &clientMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rest_client_requests_total",
			Help: "Responses of the API server, by HTTP method, host and status code; <error> without a response.",
		}, []string{"code", "method", "host"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rest_client_request_duration_seconds",
			Help: "Time of requests to the API server, with their repetitions and the reading of the response, by HTTP method and host. " +
				"Watches and logs are not included.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60},
		}, []string{"verb", "host"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rest_client_request_retries_total",
			Help: "Requests that were sent again, because the API server asked for that, by its status code.",
		}, []string{"code", "verb", "host"}),
		expiry: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "rest_client_certificate_expiry_timestamp_seconds",
			Help: "When the client certificate expires that a credential plugin of the kubeconfig has returned, in Unix time; 0 without one. " +
				"The certificate of a kubeconfig itself is not included.",
		}),
	}
	metrics.Register(metrics.RegisterOpts{
		RequestResult: m, RequestLatency: m, RequestRetry: m, ClientCertExpiry: m,
	})
	return m
}

// Increment implements metrics.ResultMetric.
func (m *clientMetrics) Increment(_ context.Context, code, method, host string) {
	m.requests.WithLabelValues(code, method, host).Inc()
}

// Observe implements metrics.LatencyMetric.
func (m *clientMetrics) Observe(_ context.Context, verb string, url url.URL, latency time.Duration) {
	m.durations.WithLabelValues(verb, url.Host).Observe(latency.Seconds())
}

// IncrementRetry implements metrics.RetryMetric.
func (m *clientMetrics) IncrementRetry(_ context.Context, code, verb, host string) {
	m.retries.WithLabelValues(code, verb, host).Inc()
}

// Set implements metrics.ExpiryMetric.
func (m *clientMetrics) Set(expiry *time.Time) {
	if expiry != nil {
		m.expiry.Set(float64(expiry.Unix()))
	}
}

func (m *clientMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.durations, m.retries, m.expiry}
}

// Describe implements prometheus.Collector.
func (m *clientMetrics) Describe(descs chan<- *prometheus.Desc) {
	for _, metric := range m.all() {
		metric.Describe(descs)
	}
}

// Collect implements prometheus.Collector.
func (m *clientMetrics) Collect(metrics chan<- prometheus.Metric) {
	for _, metric := range m.all() {
		metric.Collect(metrics)
	}
}

// asCaller wraps the transport of requests that are made for a caller.
func asCaller(next http.RoundTripper) http.RoundTripper {
	return change.NoteOutcome(call.SendRequestID(next))
}

// privateShare is the memory of the objects of watches that are not cached.
var privateShare = memorylimit.Share{Divisor: 16, Min: 32 << 20, Max: 256 << 20, Unlimited: 256 << 20}

// newScopes returns what decides which namespaces the service reads.
func newScopes(cluster *rest.Config, s config.Settings) (*scopes.Scopes, error) {
	cluster = rest.CopyConfig(cluster)
	cluster.QPS = -1 // scopes bounds its own requests, and the first reads of resources wait for them
	client, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return nil, err
	}
	options := scopes.Options{Namespaces: s.Namespaces, Own: ownNamespace(s)}
	if s.NamespaceSelector != "" {
		if options.Selector, err = labels.Parse(s.NamespaceSelector); err != nil {
			return nil, err
		}
	}
	return scopes.New(client, shownHost(cluster), options), nil
}

// ownNamespace returns the namespace of the kubeconfig's context, or of the pod.
func ownNamespace(s config.Settings) string {
	own, _, err := kubeconfigOf(s).Namespace()
	if err != nil {
		return "" // findConfig has succeeded, so the service has another one
	}
	return own
}

// selectedObjects returns the parts of resources that are cached.
func selectedObjects(s config.Settings) (all []informerhub.Selected) {
	for _, one := range s.Select {
		resource, selector, _ := strings.Cut(one, "=")
		all = append(all, informerhub.Selected{Resource: resource, Labels: selector})
	}
	for _, one := range s.SelectFields {
		resource, selector, _ := strings.Cut(one, "=")
		all = append(all, informerhub.Selected{Resource: resource, Fields: selector})
	}
	return all
}

// newHub returns the hub of a cluster. Without decisions it reads all namespaces.
func newHub(cluster *rest.Config, s config.Settings, traces *traces, decided informerhub.Scopes) (*informerhub.Hub, error) {
	return informerhub.New(cluster, informerhub.Options{
		Scopes:            decided,
		Select:            selectedObjects(s),
		KeepManagedFields: s.KeepManagedFields,
		IdleTimeout:       s.CacheIdleTimeout,
		Preload:           s.Preload,
		Uncached:          s.Uncached,
		CacheAggregated:   s.CacheAggregated,
		PrivateBytes:      int(privateShare.Bytes()),
		Tracer:            traces.tracer(),
	})
}

// newClients returns the clients that act as callers, and those that read logs as callers.
func newClients(cluster *rest.Config, s config.Settings, hub *informerhub.Hub, traces *traces) (clients, logClients *auth.ClientFactory, err error) {
	clients, err = auth.NewClientFactory(hub.PrivateConfig(), func(next http.RoundTripper) http.RoundTripper {
		return asCaller(traces.transport(next))
	})
	if err != nil {
		return nil, nil, err
	}
	if logClients, err = newLogClients(cluster, traces); err != nil {
		return nil, nil, err
	}
	if s.WriteAs == config.WriteAsConstrainedImpersonate {
		clients.Constrain(s.Reviews.Extra)
		logClients.Constrain(s.Reviews.Extra)
	}
	return clients, logClients, nil
}

// logWindow bounds the bytes of a log, and of a response that is passed on, that the API server can send ahead of a slow reader. The
// default would be 4 MiB, for each of up to a thousand logs. kubeapi charges callers for as much.
const logWindow = 256 << 10

// newLogClients returns the clients that read logs and pass on requests. They have connections of their own, because an
// HTTP/2 window is configured for the connection, and other reads need large windows.
func newLogClients(cluster *rest.Config, traces *traces) (*auth.ClientFactory, error) {
	cluster = rest.CopyConfig(cluster)
	if cluster.Dial == nil { // client-go's default, but connections with it are not shared with other clients
		cluster.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return auth.NewClientFactory(cluster, func(next http.RoundTripper) http.RoundTripper {
		setLogWindow(next)
		return asCaller(traces.transport(next))
	})
}

// setLogWindow sets a small window for the future connections of a transport.
func setLogWindow(transport http.RoundTripper) {
	for {
		switch is := transport.(type) {
		case *http.Transport:
			is.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: logWindow}
			return
		case utilnet.RoundTripperWrapper:
			transport = is.WrappedRoundTripper()
		default:
			return
		}
	}
}
