package main

import (
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

// newClientCertificateExpiry returns the metric of the client certificate in a configuration. A file is
// read for each request for the metric, because client-go also follows its changes.
func newClientCertificateExpiry(config *rest.Config) prometheus.GaugeFunc {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubeconnect_client_certificate_expiry_timestamp_seconds",
		Help: "When the client certificate of --kubeconfig expires, by which the API server knows the service, in Unix time; 0 without one.",
	}, func() float64 {
		certificates, err := cert.ParseCertsPEM(clientCertificate(config))
		if err != nil {
			return 0
		}
		return float64(certificates[0].NotAfter.Unix())
	})
}

// clientCertificate returns the client certificate in a configuration, in PEM; nil if there is none.
func clientCertificate(config *rest.Config) []byte {
	if config.CertFile == "" {
		return config.CertData
	}
	data, err := os.ReadFile(config.CertFile)
	if err != nil {
		return nil // requests to the API server fail, and are logged
	}
	return data
}
