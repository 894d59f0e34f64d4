package main

import (
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push sends the image of a layout to a registry, and prints the reference to deploy. Credentials
// are those of `docker login` or `podman login`.
func push(folder, reference string) error {
	to, err := name.ParseReference(reference)
	if err != nil {
		return err
	}
	index, err := readLayout(folder)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(to, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Println(to.Context().Digest(digest.String()))
	return nil
}
