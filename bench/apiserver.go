package main

import (
	"context"
	"net/url"

	"golang.org/x/net/http2/hpack"
)

// Media types of the API server: protobuf, JSON, and protobuf in a watch.
const (
	asProtobuf = "application/vnd.kubernetes.protobuf"
	asJSON     = "application/json"
	asStream   = "application/vnd.kubernetes.protobuf;stream=watch"
)

// fromMemory is the resource version that requests a list from the API server's watch cache.
const fromMemory = "0"

// get sends a GET request to the API server. It does not request compression, as client-go with
// DisableCompression, because the service does not compress by default either.
func (c *controlPlane) get(
	on *connection, path string, query url.Values, accept string, data func([]byte),
) (*stream, error) {
	return getAt(on, c.address, path, query, accept, data)
}

// getAt sends a GET request of Kubernetes' API to a server.
func getAt(on *connection, address, path string, query url.Values, accept string, data func([]byte)) (*stream, error) {
	return on.open([]hpack.HeaderField{
		{Name: ":method", Value: "GET"},
		{Name: ":scheme", Value: "https"},
		{Name: ":authority", Value: address},
		{Name: ":path", Value: path + "?" + query.Encode()},
		{Name: "accept", Value: accept},
		{Name: "user-agent", Value: "bench"},
	}, nil, data)
}

func podsPath(namespace string) string {
	if namespace == "" {
		return "/api/v1/pods"
	}
	return "/api/v1/namespaces/" + namespace + "/pods"
}

// list reads a complete list from the API server's watch cache, and returns its size.
func (c *controlPlane) list(
	ctx context.Context, on *connection, namespace, labels, accept string,
) (bytes int, err error) {
	query := url.Values{"resourceVersion": {fromMemory}}
	if labels != "" {
		query.Set("labelSelector", labels)
	}
	response, err := c.get(on, podsPath(namespace), query, accept, func(data []byte) { bytes += len(data) })
	if err != nil {
		return 0, err
	}
	return bytes, response.wait(ctx)
}

// watch opens a watch of the pods of a namespace. It begins after the given version.
func (c *controlPlane) watch(on *connection, namespace, version, accept string, data func([]byte)) (*stream, error) {
	query := url.Values{"watch": {"true"}, "resourceVersion": {version}, "timeoutSeconds": {"3600"}}
	return c.get(on, podsPath(namespace), query, accept, data)
}
