package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

//go:embed manifests
var manifests embed.FS

// seed creates the sample objects through the service: each object is a Patch of type APPLY, so
// that a second run changes nothing but what was changed in between. The patches are forced, because
// other managers may have changed the same fields, such as a number of replicas.
func seed(ctx context.Context, address string) error {
	files, err := manifests.ReadDir("manifests")
	if err != nil {
		return err
	}
	client := kubeconnectv1connect.NewResourceServiceClient(dial(address))
	count := 0
	for _, file := range files {
		text, err := manifests.ReadFile("manifests/" + file.Name())
		if err != nil {
			return err
		}
		for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
			if err := apply(ctx, client, document); err != nil {
				return err
			}
			count++
		}
	}
	fmt.Printf("  %d objects applied through the service\n", count)
	return nil
}

// dial returns a client of the service, for responses of any size.
func dial(address string) *connect.Client {
	return connect.NewClient(connecthttp.NewTransport(http.DefaultClient, address, connecthttp.WithReadMaxBytes(0)))
}

// apply applies one object, and retries while its CRD is not served yet.
func apply(ctx context.Context, client kubeconnectv1connect.ResourceServiceClient, document []byte) error {
	request, err := applyRequest(document)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		_, err := client.Patch(ctx, request)
		if code := connect.CodeOf(err); err == nil || code != connect.CodeNotFound && code != connect.CodeUnavailable {
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

func applyRequest(document []byte) (*kubeconnectv1.PatchRequest, error) {
	var object unstructured.Unstructured
	if err := yaml.Unmarshal(document, &object.Object); err != nil {
		return nil, err
	}
	kind := object.GroupVersionKind()
	return &kubeconnectv1.PatchRequest{
		Resource:     strings.TrimSuffix(kind.Kind+"."+kind.Version+"."+kind.Group, "."),
		Namespace:    object.GetNamespace(),
		Name:         object.GetName(),
		Type:         kubeconnectv1.PatchType_PATCH_TYPE_APPLY,
		Body:         &kubeconnectv1.PatchRequest_Data{Data: document},
		FieldManager: "demo",
		Force:        true,
		Encoding:     kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	}, nil
}
