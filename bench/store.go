package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/encoding/protowire"
)

// store is a client of the control plane's etcd. A change that it writes costs the API server only the
// processing of its watch at etcd, like a change that another API server writes. Its methods are safe
// for concurrent use.
type store struct{ conn *grpc.ClientConn }

// The methods of etcd's KV service that the bench calls, and the numbers of their fields. Source:
// https://github.com/etcd-io/etcd/blob/main/api/etcdserverpb/rpc.proto
const (
	kvRange = "/etcdserverpb.KV/Range"
	kvPut   = "/etcdserverpb.KV/Put"

	rangeRequestKey  protowire.Number = 1
	rangeResponseKVs protowire.Number = 2
	keyValueValue    protowire.Number = 5
	putRequestKey    protowire.Number = 1
	putRequestValue  protowire.Number = 2
)

// openStore connects to the etcd of a control plane, with the client certificate of the API server.
// The caller must call close.
func openStore(c *controlPlane) (*store, error) {
	var ports struct {
		Etcd int `json:"etcd"`
	}
	text, err := os.ReadFile(c.file("ports.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &ports); err != nil {
		return nil, err
	}
	config, err := c.storeTLS()
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(fmt.Sprintf("127.0.0.1:%d", ports.Etcd),
		grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(encoded{})))
	return &store{conn: conn}, err
}

func (c *controlPlane) storeTLS() (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(c.file("pki", "etcd-client.crt"), c.file("pki", "etcd-client.key"))
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(c.file("pki", "etcd-ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	return &tls.Config{Certificates: []tls.Certificate{own}, RootCAs: roots}, nil
}

func (s *store) close() { _ = s.conn.Close() }

// get reads the value of a key.
func (s *store) get(ctx context.Context, key string) (value []byte, err error) {
	request := protowire.AppendTag(nil, rangeRequestKey, protowire.BytesType)
	request = protowire.AppendString(request, key)
	var response []byte
	if err := s.conn.Invoke(ctx, kvRange, request, &response); err != nil {
		return nil, err
	}
	eachField(response, func(number protowire.Number, pair []byte) {
		if number == rangeResponseKVs {
			value = fieldOf(pair, keyValueValue)
		}
	})
	if value == nil {
		return nil, fmt.Errorf("key %s not found in etcd", key)
	}
	return value, nil
}

// put writes the value of a key.
func (s *store) put(ctx context.Context, key string, value []byte) error {
	request := protowire.AppendTag(nil, putRequestKey, protowire.BytesType)
	request = protowire.AppendString(request, key)
	request = protowire.AppendTag(request, putRequestValue, protowire.BytesType)
	request = protowire.AppendBytes(request, value)
	var response []byte
	return s.conn.Invoke(ctx, kvPut, request, &response)
}

// fieldOf returns the bytes of a field, or nil if the message does not have it.
func fieldOf(message []byte, field protowire.Number) (found []byte) {
	eachField(message, func(number protowire.Number, value []byte) {
		if number == field {
			found = value
		}
	})
	return found
}

// encoded is a codec for encoded messages: requests are []byte and responses *[]byte.
type encoded struct{}

func (encoded) Name() string { return "proto" }

func (encoded) Marshal(message any) ([]byte, error) {
	bytes, ok := message.([]byte)
	if !ok {
		return nil, fmt.Errorf("cannot send a %T", message)
	}
	return bytes, nil
}

func (encoded) Unmarshal(data []byte, message any) error {
	bytes, ok := message.(*[]byte)
	if !ok {
		return fmt.Errorf("cannot receive into a %T", message)
	}
	*bytes = append([]byte(nil), data...)
	return nil
}
