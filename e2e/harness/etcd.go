package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/protobuf/encoding/protowire"
)

// etcdPoll is the interval at which an etcd that starts is called until it answers.
const etcdPoll = 50 * time.Millisecond

// etcdAPI calls the API of a control plane's etcd, as an operator does with etcdctl. Requests and
// responses are protobuf messages in their wire format, because etcd's client is not among the
// dependencies of this module.
type etcdAPI struct {
	http *http.Client
	url  string
}

// SetNoSpace raises etcd's alarm NOSPACE, or disarms it. The alarm is what etcd raises itself when its
// data reaches --quota-backend-bytes: until it is disarmed, etcd rejects all writes but deletions.
func (c *Cluster) SetNoSpace(ctx context.Context, full bool) error {
	api, err := c.etcdAPI()
	if err != nil {
		return err
	}
	defer api.http.CloseIdleConnections()
	const activate, deactivate, noSpace = 1, 2, 1
	action := uint64(deactivate)
	if full {
		action = activate
	}
	_, err = api.call(ctx, "etcdserverpb.Maintenance/Alarm", varints(action, 0, noSpace))
	return err
}

// RaiseVersions makes the cluster's versions at least count higher, and compacts all earlier ones, as
// `etcdutl snapshot restore --bump-revision --mark-compacted` does. It is for the function that is
// passed to Offline.
func (c *Cluster) RaiseVersions(ctx context.Context, count int) (err error) {
	stop, err := c.startEtcd()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	api, err := c.etcdAPI()
	if err != nil {
		return err
	}
	defer api.http.CloseIdleConnections()
	revision, err := api.firstRevision(ctx)
	for range count {
		if err != nil {
			return err
		}
		revision, err = api.put(ctx)
	}
	if err == nil {
		_, err = api.call(ctx, "etcdserverpb.KV/Compact", varints(revision, 1))
	}
	return err
}

// startEtcd starts etcd alone. It ends with the returned function, or with this process.
func (c *Cluster) startEtcd() (stop func() error, err error) {
	port, err := c.etcdPort()
	if err != nil {
		return nil, err
	}
	etcd := exec.Command(c.command[0], "etcd", "--dir", c.dir, "--port", strconv.Itoa(port))
	stdin, err := etcd.StdinPipe() // devcluster's components end when it is closed
	if err != nil {
		return nil, err
	}
	if err := etcd.Start(); err != nil {
		return nil, err
	}
	return func() error { return errors.Join(stdin.Close(), etcd.Wait()) }, nil
}

func (c *Cluster) etcdPort() (int, error) {
	content, err := os.ReadFile(filepath.Join(c.dir, "ports.json"))
	if err != nil {
		return 0, err
	}
	var ports struct{ Etcd int }
	return ports.Etcd, errors.Join(json.Unmarshal(content, &ports), err)
}

func (c *Cluster) etcdAPI() (*etcdAPI, error) {
	port, err := c.etcdPort()
	if err != nil {
		return nil, err
	}
	certificate, err := tls.LoadX509KeyPair(c.PKI("etcd-client.crt"), c.PKI("etcd-client.key"))
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(c.PKI("etcd-ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: roots},
	}
	return &etcdAPI{&http.Client{Transport: transport}, fmt.Sprintf("https://127.0.0.1:%d/", port)}, nil
}

// firstRevision blocks until etcd accepts a write, and returns its revision.
func (a *etcdAPI) firstRevision(ctx context.Context) (revision uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, clusterStart)
	defer cancel()
	for {
		if revision, err = a.put(ctx); err == nil {
			return revision, nil
		}
		select {
		case <-time.After(etcdPoll):
		case <-ctx.Done():
			return 0, err
		}
	}
}

// put writes a key that the API server does not read, and returns the revision of the write.
func (a *etcdAPI) put(ctx context.Context) (revision uint64, err error) {
	request := protowire.AppendTag(nil, 1, protowire.BytesType)
	request = protowire.AppendString(request, "e2e")
	response, err := a.call(ctx, "etcdserverpb.KV/Put", request)
	if err != nil {
		return 0, err
	}
	const header, headerRevision = 1, 3
	return varintAt(bytesAt(response, header), headerRevision), nil
}

func (a *etcdAPI) call(ctx context.Context, procedure string, request []byte) ([]byte, error) {
	client := connect.NewClient(connecthttp.NewTransport(a.http, a.url, connecthttp.WithGRPC(), connecthttp.WithCodecs(wireCodec{})))
	var response []byte
	if err := client.CallUnary(ctx, connect.Spec{Procedure: "/" + procedure}, request, &response); err != nil {
		return nil, fmt.Errorf("%s: %w", procedure, err)
	}
	return response, nil
}

// wireCodec passes messages on as they are. It has the name of the codec for protobuf.
type wireCodec struct{}

func (wireCodec) Name() string { return "proto" }

func (wireCodec) MarshalWrite(_ context.Context, dst io.Writer, message any) error {
	_, err := dst.Write(message.([]byte))
	return err
}

func (wireCodec) UnmarshalRead(_ context.Context, src io.Reader, message any) (err error) {
	*message.(*[]byte), err = io.ReadAll(src)
	return err
}

// varints returns a message with these values in its fields 1, 2 and so on.
func varints(values ...uint64) (message []byte) {
	for i, value := range values {
		message = protowire.AppendTag(message, protowire.Number(i+1), protowire.VarintType)
		message = protowire.AppendVarint(message, value)
	}
	return message
}

// bytesAt returns the field of a message that is itself a message; empty if it has none.
func bytesAt(message []byte, field protowire.Number) (value []byte) {
	eachField(message, func(number protowire.Number, kind protowire.Type, data []byte) {
		if number == field && kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(data)
		}
	})
	return value
}

// varintAt returns the number in a field of a message; 0 if it has none.
func varintAt(message []byte, field protowire.Number) (value uint64) {
	eachField(message, func(number protowire.Number, kind protowire.Type, data []byte) {
		if number == field && kind == protowire.VarintType {
			value, _ = protowire.ConsumeVarint(data)
		}
	})
	return value
}

func eachField(message []byte, visit func(protowire.Number, protowire.Type, []byte)) {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if size < 0 {
			return
		}
		visit(number, kind, message[tag:tag+size])
		message = message[tag+size:]
	}
}
