package server

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protowire"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/conditional"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/target"
)

var schemaOfResponse = encode.FieldNumber(&kubeconnectv1.GetSchemaResponse{}, "schema")

// coreGroup is the name of the API group without a name in requests.
const coreGroup = "core"

// discoveryService implements kubeconnect.v1.DiscoveryService. Every caller can read what the
// cluster serves, as at the API server. The state of a cache is only for callers that can list the
// resource everywhere.
type discoveryService struct {
	hub         *informerhub.Hub
	targets     *target.Resolver
	permissions access.Permissions
}

// ListResourceTypes implements kubeconnect.v1.DiscoveryService.
func (d *discoveryService) ListResourceTypes(ctx context.Context, request *kubeconnectv1.ListResourceTypesRequest) (*kubeconnectv1.ListResourceTypesResponse, error) {
	types, failed, err := d.hub.Resolver().Types(ctx)
	if err != nil {
		return nil, err
	}
	response := &kubeconnectv1.ListResourceTypesResponse{}
	types = slices.DeleteFunc(types, func(resourceType discovery.Type) bool { return !wantsType(request, resourceType) })
	if err := budget.ReserveResponse(ctx, len(types)*typeBytes); err != nil {
		return nil, err
	}
	for _, resourceType := range types {
		response.ResourceTypes = append(response.ResourceTypes, encodeType(resourceType))
	}
	for _, group := range failed {
		if wantsGroup(request, group.Group) {
			response.FailedGroupVersions = append(response.FailedGroupVersions, encodeFailedGroupVersion(group))
		}
	}
	if err := d.addCaches(ctx, types, response.GetResourceTypes()); err != nil {
		return nil, err
	}
	return response, nil
}

// typeBytes and schemaBytes estimate the memory of a type and of a schema, in all forms that they
// have until they are sent.
const typeBytes, schemaBytes = 4 << 10, 4 << 20

func wantsType(request *kubeconnectv1.ListResourceTypesRequest, resourceType discovery.Type) bool {
	category := request.GetCategory()
	return wantsGroup(request, resourceType.Group) && (category == "" || slices.Contains(resourceType.Categories, category))
}

func wantsGroup(request *kubeconnectv1.ListResourceTypesRequest, group string) bool {
	switch request.GetGroup() {
	case "", group:
		return true
	case coreGroup:
		return group == ""
	}
	return false
}

// addCaches adds the states of the caches of some types. It asks for the caller's permission only
// for resources with a running cache, at most maxConcurrentReviews at a time.
func (d *discoveryService) addCaches(ctx context.Context, types []discovery.Type, resourceTypes []*kubeconnectv1.ResourceType) error {
	caches := make(map[informerhub.Resource]informerhub.Status)
	for _, status := range d.hub.Status() {
		caches[status.Resource] = status
	}
	group, reviewCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentReviews)
	for i, resourceType := range types {
		status, runs := caches[resourceType.Resource]
		if !runs {
			continue
		}
		group.Go(func() error {
			allowed, err := d.permissions.ListsAll(reviewCtx, call.IdentityFrom(ctx), resourceType.Resource)
			if allowed {
				resourceTypes[i].Cache = encodeCache(status)
			}
			return err
		})
	}
	return group.Wait()
}

func encodeType(resourceType discovery.Type) *kubeconnectv1.ResourceType {
	return &kubeconnectv1.ResourceType{
		Resource:     encode.Kind(resourceType.Resource),
		Singular:     resourceType.Singular,
		ShortNames:   resourceType.ShortNames,
		Categories:   resourceType.Categories,
		Verbs:        resourceType.Verbs,
		Subresources: resourceType.Subresources,
		Versions:     resourceType.Versions,
	}
}

func encodeFailedGroupVersion(failed discovery.FailedGroupVersion) *kubeconnectv1.FailedGroupVersion {
	return &kubeconnectv1.FailedGroupVersion{Group: failed.Group, Version: failed.Version, Message: failed.Err.Error()}
}

func encodeCache(status informerhub.Status) *kubeconnectv1.CacheState {
	return &kubeconnectv1.CacheState{
		Running:         true,
		Synced:          status.Synced,
		ObjectCount:     int64(status.Objects),
		SizeBytes:       int64(status.Bytes),
		ResourceVersion: status.Version,
		Freshness:       encode.Freshness(status.Freshness),
	}
}

// GetSchema implements kubeconnect.v1.DiscoveryService.
func (d *discoveryService) GetSchema(ctx context.Context, request *kubeconnectv1.GetSchemaRequest) (*kubeconnectv1.GetSchemaResponse, error) {
	return target.OnResource(ctx, d.targets, request.GetResource(), func(resource informerhub.Resource) (*kubeconnectv1.GetSchemaResponse, error) {
		return d.schemaOf(ctx, resource)
	})
}

func (d *discoveryService) schemaOf(ctx context.Context, resource informerhub.Resource) (*kubeconnectv1.GetSchemaResponse, error) {
	if err := d.targets.CheckExists(ctx, resource); err != nil {
		return nil, err
	}
	if err := budget.ReserveResponse(ctx, schemaBytes); err != nil {
		return nil, err
	}
	schema, err := d.hub.Schema(ctx, resource)
	if err != nil {
		return nil, err
	}
	return schemaResponse(ctx, resource, schema)
}

// schemaResponse returns a response with an encoded schema. The schema is decoded if the caller's
// codec needs messages.
func schemaResponse(ctx context.Context, resource informerhub.Resource, schema []byte) (*kubeconnectv1.GetSchemaResponse, error) {
	return budget.RespondInSlot(ctx, len(schema) > budget.ShortBytes, func(ctx context.Context) (*kubeconnectv1.GetSchemaResponse, error) {
		response := &kubeconnectv1.GetSchemaResponse{}
		field := make([]byte, 0, protowire.SizeTag(schemaOfResponse)+protowire.SizeBytes(len(schema)))
		conditional.SetEncoded(ctx, response, encode.AppendField(field, schemaOfResponse, schema), call.WantsMessages(ctx))
		response.Resource = encode.Kind(resource)
		return response, nil
	})
}
