package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// refName is the annotation by which tools find an image of a layout.
const refName = "org.opencontainers.image.ref.name"

// buildImage writes the image as an OCI layout to the folder image of the output, or image-fips, and the lists of
// components of its binaries to the output.
func buildImage(s source, output string) error {
	work, err := os.MkdirTemp("", project)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	binaries, err := s.compileAll(imagePlatforms, work)
	if err != nil {
		return err
	}
	digest, err := s.writeLayout(binaries, filepath.Join(output, s.named("image", "-")))
	if err != nil {
		return err
	}
	fmt.Println(digest)
	return s.writeComponents(binaries, output)
}

// writeLayout writes the image of binaries as an OCI layout, and returns the digest of its index.
func (s source) writeLayout(binaries []binary, folder string) (v1.Hash, error) {
	index, err := s.image(binaries)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := os.RemoveAll(folder); err != nil {
		return v1.Hash{}, err
	}
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := written.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: s.named(s.version, "-")})); err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}

// readLayout returns the image of a layout that writeLayout has written.
func readLayout(folder string) (v1.ImageIndex, error) {
	all, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	manifest, err := all.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, errors.New("the layout must have one image")
	}
	return all.ImageIndex(manifest.Manifests[0].Digest)
}
