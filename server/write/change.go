package write

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// Target is the object, the subresource or, if Name is empty, the collection that a change is made
// to.
type Target struct {
	Resource    informerhub.Resource
	Namespace   string
	Name        string
	Subresource string
}

func (t Target) subresources() []string {
	if t.Subresource == "" {
		return nil
	}
	return []string{t.Subresource}
}

// Change is a parsed change, in the forms of client-go's two clients.
type Change interface {
	// typed returns the request of the clientset's REST client for the kind's group, without the
	// target.
	typed(rest.Interface) *rest.Request
	// dynamic makes the change by the dynamic client. The response is recorded by an Outcome.
	dynamic(context.Context, dynamic.ResourceInterface, Target) error
}

// Create creates an object, or the object of a subresource that creates one.
type Create struct {
	Manifest Manifest
	Options  metav1.CreateOptions
}

func (c Create) typed(client rest.Interface) *rest.Request {
	return c.Manifest.applyTo(client.Post(), &c.Options)
}

func (c Create) dynamic(ctx context.Context, objects dynamic.ResourceInterface, t Target) error {
	object, err := c.Manifest.unstructured(ctx, t, c.Options.FieldValidation)
	if err == nil {
		_, err = objects.Create(ctx, object, c.Options, t.subresources()...)
	}
	return err
}

// Update replaces an object or a subresource.
type Update struct {
	Manifest Manifest
	Options  metav1.UpdateOptions
}

func (u Update) typed(client rest.Interface) *rest.Request {
	return u.Manifest.applyTo(client.Put(), &u.Options)
}

func (u Update) dynamic(ctx context.Context, objects dynamic.ResourceInterface, t Target) error {
	object, err := u.Manifest.unstructured(ctx, t, u.Options.FieldValidation)
	if err == nil {
		_, err = objects.Update(ctx, object, u.Options, t.subresources()...)
	}
	return err
}

// Patch changes some fields of an object.
type Patch struct {
	Kind    types.PatchType
	Body    []byte
	Options metav1.PatchOptions
}

func (p Patch) typed(client rest.Interface) *rest.Request {
	return client.Patch(p.Kind).VersionedParams(&p.Options, scheme.ParameterCodec).Body(p.Body)
}

func (p Patch) dynamic(ctx context.Context, objects dynamic.ResourceInterface, t Target) error {
	_, err := objects.Patch(ctx, t.Name, p.Kind, p.Body, p.Options, t.subresources()...)
	return err
}

// Delete deletes an object.
type Delete struct{ Options metav1.DeleteOptions }

func (d Delete) typed(client rest.Interface) *rest.Request {
	return client.Delete().Body(&d.Options)
}

func (d Delete) dynamic(ctx context.Context, objects dynamic.ResourceInterface, t Target) error {
	return objects.Delete(ctx, t.Name, d.Options)
}

// DeleteCollection deletes all matching objects of a collection.
type DeleteCollection struct {
	Options  metav1.DeleteOptions
	Matching metav1.ListOptions
}

func (c DeleteCollection) typed(client rest.Interface) *rest.Request {
	return client.Delete().VersionedParams(&c.Matching, scheme.ParameterCodec).Body(&c.Options)
}

func (c DeleteCollection) dynamic(ctx context.Context, objects dynamic.ResourceInterface, _ Target) error {
	return objects.DeleteCollection(ctx, c.Options, c.Matching)
}
