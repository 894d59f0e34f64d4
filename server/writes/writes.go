package writes

import (
	"context"
	"errors"
	"net/http"
	"time"

	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/writes/change"
)

// Writes has the handlers of the RPCs that change objects. Its methods are safe for concurrent use.
//
// Each handler does the same in the same order: it parses the request, resolves the resource, finds the target, and makes the
// change. Nothing is checked against a cache: the API server decides about permissions, preconditions and conflicts.
//
// target.OnResource can call its function twice. It does so only if the API server has not carried out the first request,
// so a change is never made twice.
type Writes struct {
	// Set once.
	hub     *informerhub.Hub
	targets *target.Resolver
	clients *auth.ClientFactory
}

// New returns the handlers of the RPCs that change objects.
func New(hub *informerhub.Hub, targets *target.Resolver, clients *auth.ClientFactory) *Writes {
	return &Writes{hub: hub, targets: targets, clients: clients}
}

// writer returns a writer that acts as the caller. The call notes when the request is sent: from then on the change may have
// been made, whatever the caller receives.
func (w *Writes) writer(ctx context.Context) change.Writer {
	return change.Writer{Clients: w.clients.For(call.IdentityFrom(ctx)), Sends: func() { call.NoteSent(ctx) }}
}

// writeResponse is the response to a change.
type writeResponse struct {
	change.Result
	kind   *kubeconnectv1.Resource // of the object in the response, which can be another kind than the kind of the target
	object *kubeconnectv1.Object
}

// change makes a change and encodes the object in the API server's response.
//
// The memory for the response is reserved only after the change was made, when its size is known. Therefore a lack of memory
// must not be an error: see budget.ReserveWriteResponse.
func (w *Writes) change(ctx context.Context, dest change.Target, requested change.Change, encoding kubeconnectv1.Encoding) (writeResponse, error) {
	done, err := w.writer(ctx).Do(ctx, dest, requested)
	if err != nil {
		return writeResponse{}, err
	}
	object, err := object.Read(done.Body)
	if err != nil {
		return writeResponse{}, err
	}
	call.NoteObject(ctx, object.Namespace(), object.Name()) // the name, if the API server has generated it
	view := encode.View{Encoding: encoding, Messages: true}
	if err := budget.ReserveWriteResponse(ctx, len(done.Body)+view.Memory([]*informerhub.Object{object})); err != nil {
		return writeResponse{}, err
	}
	encoded, err := budget.EncodeInSlot(ctx, object, encoding)
	return writeResponse{done, encode.KindOf(object, dest.Resource), encoded}, err
}

// Create implements kubeconnect.v1.ResourceService. The manifest is parsed after the resource is resolved, because the envelope of a
// protobuf manifest depends on the resource.
func (w *Writes) Create(ctx context.Context, request *kubeconnectv1.CreateRequest) (*kubeconnectv1.CreateResponse, error) {
	params, err := parseCreate(request)
	if err != nil {
		return nil, err
	}
	done, err := target.OnResource(ctx, w.targets, request.GetResource(), func(resource informerhub.Resource) (writeResponse, error) {
		manifest, err := budget.InSlotIf(ctx, params.long, func(context.Context) (change.Manifest, error) { return manifestOf(params.body, resource) })
		if err != nil {
			return writeResponse{}, err
		}
		call.NoteObject(ctx, manifest.Head.Metadata.Namespace, manifest.Head.Metadata.Name)
		// The name and the namespace can stand in the request or in the manifest.
		target, err := createTarget(resource, params.objectParams, manifest.Head)
		if err != nil {
			return writeResponse{}, err
		}
		return w.change(ctx, target, change.Create{Manifest: manifest, Options: params.options}, request.GetEncoding())
	})
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.CreateResponse{Resource: done.kind, Object: done.object, Warnings: done.Warnings}, nil
}

// Update implements kubeconnect.v1.ResourceService. An update of an object that does not exist can create it, as at the API server.
func (w *Writes) Update(ctx context.Context, request *kubeconnectv1.UpdateRequest) (*kubeconnectv1.UpdateResponse, error) {
	params, err := parseUpdate(request)
	if err != nil {
		return nil, err
	}
	done, err := target.OnResource(ctx, w.targets, request.GetResource(), func(resource informerhub.Resource) (writeResponse, error) {
		manifest, err := budget.InSlotIf(ctx, params.long, func(context.Context) (change.Manifest, error) { return manifestOf(params.body, resource) })
		if err != nil {
			return writeResponse{}, err
		}
		call.NoteObject(ctx, manifest.Head.Metadata.Namespace, manifest.Head.Metadata.Name)
		target, err := updateTarget(resource, params.objectParams, manifest.Head)
		if err != nil {
			return writeResponse{}, err
		}
		// The API server reads preconditions of an update from the metadata of the object.
		if manifest, err = manifest.WithPreconditions(params.preconditions); err != nil {
			return writeResponse{}, err
		}
		done, err := w.change(ctx, target, change.Update{Manifest: manifest, Options: params.options}, request.GetEncoding())
		return done, change.MapUIDConflict(err, target, params.preconditions)
	})
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.UpdateResponse{Resource: done.kind, Object: done.object, Warnings: done.Warnings, Created: done.Created}, nil
}

// Patch implements kubeconnect.v1.ResourceService. The patch is parsed before the resource is resolved: it does not depend on it.
func (w *Writes) Patch(ctx context.Context, request *kubeconnectv1.PatchRequest) (*kubeconnectv1.PatchResponse, error) {
	if err := errors.Join(encode.Check(request.GetEncoding()), checkPreconditions(request.GetPreconditions())); err != nil {
		return nil, err
	}
	patch, err := budget.InSlotIf(ctx, proto.Size(request) > budget.ShortBytes, func(context.Context) (change.Patch, error) { return parsePatch(request) })
	if err != nil {
		return nil, err
	}
	// The preconditions are part of the patch already. Here they only explain a conflict.
	object, required := objectOf(request), preconditions(request.GetPreconditions())
	done, err := target.OnResource(ctx, w.targets, request.GetResource(), func(resource informerhub.Resource) (writeResponse, error) {
		dest, err := existingTarget(resource, object)
		if err != nil {
			return writeResponse{}, err
		}
		done, err := w.change(ctx, dest, patch, request.GetEncoding())
		return done, change.MapUIDConflict(err, dest, required)
	})
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.PatchResponse{Resource: done.kind, Object: done.object, Warnings: done.Warnings, Created: done.Created}, nil
}

// Delete implements kubeconnect.v1.ResourceService. The API server returns the deleted object, or a Status. The response to a deletion
// with a Status has no object, and the version is looked up unless it is in the Status: see versionAfter.
func (w *Writes) Delete(ctx context.Context, request *kubeconnectv1.DeleteRequest) (*kubeconnectv1.DeleteResponse, error) {
	if err := errors.Join(encode.Check(request.GetEncoding()), checkPreconditions(request.GetPreconditions())); err != nil {
		return nil, err
	}
	options, err := deleteOptions(request)
	if err != nil {
		return nil, err
	}
	options.Preconditions = preconditions(request.GetPreconditions())
	object := objectParams{namespace: request.GetNamespace(), name: request.GetName()}
	var dest change.Target // of the last attempt; versionAfter needs it
	version := ""          // in the response
	done, err := target.OnResource(ctx, w.targets, request.GetResource(), func(resource informerhub.Resource) (_ writeResponse, err error) {
		dest, err = existingTarget(resource, object)
		if err != nil {
			return writeResponse{}, err
		}
		done, err := w.change(ctx, dest, change.Delete{Options: options}, request.GetEncoding())
		version = done.object.GetResourceVersion()
		if err == nil && done.kind.GetKind() == "Status" { // the Status only reports success
			done.kind, done.object = encode.Kind(resource), nil
		}
		return done, err
	})
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.DeleteResponse{
		Resource: done.kind, Object: done.object, Warnings: done.Warnings,
		ResourceVersion: w.versionAfter(ctx, dest, request.GetDryRun(), version),
	}, nil
}

// DeleteCollection implements kubeconnect.v1.ResourceService. The API server parses the selectors. Its deletions are not atomic: after
// an error some objects may have been deleted.
func (w *Writes) DeleteCollection(ctx context.Context, request *kubeconnectv1.DeleteCollectionRequest) (*kubeconnectv1.DeleteCollectionResponse, error) {
	options, err := deleteOptions(request)
	if err != nil {
		return nil, err
	}
	matching := metav1.ListOptions{LabelSelector: request.GetLabelSelector(), FieldSelector: request.GetFieldSelector()}
	var dest change.Target
	var warnings []string // not part of the result of OnResource, which is the number of objects
	deleted, err := target.OnResource(ctx, w.targets, request.GetResource(), func(resource informerhub.Resource) (deleted int, err error) {
		if err := target.CheckNamespace(resource, request.GetNamespace()); err != nil {
			return 0, err
		}
		dest = change.Target{Resource: resource, Namespace: request.GetNamespace()}
		deleted, warnings, err = w.writer(ctx).DeleteCollection(ctx, dest, change.DeleteCollection{Options: options, Matching: matching})
		return deleted, err
	})
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.DeleteCollectionResponse{
		DeletedCount: int64(deleted), Warnings: warnings,
		// The objects in the response are in their state before the deletion.
		ResourceVersion: w.versionAfter(ctx, dest, request.GetDryRun(), ""),
	}, nil
}

// deletionTimeout is the time that a completed deletion waits for its resource version.
const deletionTimeout = 3 * time.Second

// versionAfter returns a resource version at which a deletion is visible: the version in the API
// server's response, which is the deletion's own. A Status has none before Kubernetes 1.38. Then
// the API server is asked for its version, with the service's permissions if the resource is
// cacheable, because a caller may have the permission to delete without the permission to list. It
// returns an empty string if the version cannot be found, because the deletion has succeeded.
func (w *Writes) versionAfter(ctx context.Context, dest change.Target, dryRun bool, deleted string) string {
	switch {
	case dryRun:
		return "" // nothing was deleted, so no version shows it
	case object.IsVersion(deleted):
		return deleted
	}
	ctx, cancel := context.WithTimeout(ctx, deletionTimeout)
	defer cancel()
	// The caller's own permissions are the second choice, for a resource that the service itself cannot list.
	clients := []*http.Client{w.clients.For(call.IdentityFrom(ctx)).HTTP}
	if dest.Resource.Cacheable() {
		clients = []*http.Client{nil, clients[0]}
	}
	// A list of one object is enough: its version is the version of the collection at that time.
	for _, client := range clients {
		if version, err := w.hub.CurrentVersion(ctx, dest.Resource, dest.Namespace, client); err == nil && object.IsVersion(version) {
			return version
		}
	}
	return ""
}
