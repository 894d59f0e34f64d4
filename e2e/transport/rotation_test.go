package transport_test

import (
	"crypto/tls"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestTransport_CertificateRotationKeepsStreams(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	first, second := kit.NewCertificate(t), kit.NewCertificate(t)
	service := kit.StartTLSService(t, kit.Cluster(t), first)
	watching := harness.Dial(harness.HTTP2OverTLS(t, first.Parsed), service.Address, harness.GRPC)
	stream := record.Watch(t, watching.Resources, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
	stream.Synced(ctx)

	first.Replace(t, second)
	kit.Eventually(ctx, t, "the service presents the renewed certificate", func() error {
		connection, err := (&tls.Dialer{Config: second.Trusting()}).DialContext(ctx, "tcp", kit.HostPort(service))
		if err != nil {
			return err
		}
		return connection.Close()
	})
	stream.Reaches(ctx, write.Create("after", nil).ResourceVersion)
	stream.Close()
}
