package server

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// target is the object, the subresource or, if name is empty, the collection that a change is made
// to.
type target struct {
	resource    informerhub.Resource
	namespace   string
	name        string
	subresource string
}

func (t target) subresources() []string {
	if t.subresource == "" {
		return nil
	}
	return []string{t.subresource}
}

// change is a parsed change, in the forms of client-go's two clients.
type change interface {
	// typed returns the request of the clientset's REST client for the kind's group, without the
	// target.
	typed(rest.Interface) *rest.Request
	// dynamic makes the change by the dynamic client. The response is recorded by outcome.
	dynamic(context.Context, dynamic.ResourceInterface, target) error
}

// creation creates an object, or the object of a subresource that creates one.
type creation struct {
	manifest manifest
	options  metav1.CreateOptions
}

func (c creation) typed(client rest.Interface) *rest.Request {
	return c.manifest.applyTo(client.Post(), &c.options)
}

func (c creation) dynamic(ctx context.Context, objects dynamic.ResourceInterface, t target) error {
	object, err := c.manifest.unstructured(ctx, t, c.options.FieldValidation)
	if err == nil {
		_, err = objects.Create(ctx, object, c.options, t.subresources()...)
	}
	return err
}

// update replaces an object or a subresource.
type update struct {
	manifest manifest
	options  metav1.UpdateOptions
}

func (u update) typed(client rest.Interface) *rest.Request {
	return u.manifest.applyTo(client.Put(), &u.options)
}

func (u update) dynamic(ctx context.Context, objects dynamic.ResourceInterface, t target) error {
	object, err := u.manifest.unstructured(ctx, t, u.options.FieldValidation)
	if err == nil {
		_, err = objects.Update(ctx, object, u.options, t.subresources()...)
	}
	return err
}

// patch changes some fields of an object.
type patch struct {
	kind    types.PatchType
	body    []byte
	options metav1.PatchOptions
}

func (p patch) typed(client rest.Interface) *rest.Request {
	return client.Patch(p.kind).VersionedParams(&p.options, scheme.ParameterCodec).Body(p.body)
}

func (p patch) dynamic(ctx context.Context, objects dynamic.ResourceInterface, t target) error {
	_, err := objects.Patch(ctx, t.name, p.kind, p.body, p.options, t.subresources()...)
	return err
}

// deletion deletes an object.
type deletion struct{ options metav1.DeleteOptions }

func (d deletion) typed(client rest.Interface) *rest.Request {
	return client.Delete().Body(&d.options)
}

func (d deletion) dynamic(ctx context.Context, objects dynamic.ResourceInterface, t target) error {
	return objects.Delete(ctx, t.name, d.options)
}

// collectionDeletion deletes all matching objects of a collection.
type collectionDeletion struct {
	options  metav1.DeleteOptions
	matching metav1.ListOptions
}

func (c collectionDeletion) typed(client rest.Interface) *rest.Request {
	return client.Delete().VersionedParams(&c.matching, scheme.ParameterCodec).Body(&c.options)
}

func (c collectionDeletion) dynamic(ctx context.Context, objects dynamic.ResourceInterface, _ target) error {
	return objects.DeleteCollection(ctx, c.options, c.matching)
}
