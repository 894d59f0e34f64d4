package e2e_test

import (
	"crypto/tls"
	"os"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestTransport_CertificateRotationKeepsStreams(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	first, second := newCertificate(t), newCertificate(t)
	service := startTLSService(t, cluster(t), first)
	watching := harness.Dial(harness.HTTP2OverTLS(t, first.parsed), service.Address, harness.GRPC)
	stream := record.Watch(t, watching.Resources, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
	stream.Synced(ctx)

	first.replace(t, second)
	eventually(ctx, t, "the service presents the renewed certificate", func() error {
		connection, err := (&tls.Dialer{Config: second.trusting()}).DialContext(ctx, "tcp", hostPort(service))
		if err != nil {
			return err
		}
		return connection.Close()
	})
	stream.Reaches(ctx, write.create("after", nil).ResourceVersion)
	stream.Close()
}

// replace overwrites the files of this certificate with another one.
func (c certificate) replace(t *testing.T, next certificate) {
	t.Helper()
	for from, to := range map[string]string{next.certFile: c.certFile, next.keyFile: c.keyFile} {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
