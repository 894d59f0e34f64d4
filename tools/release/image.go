package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// rootsPath is the first of the paths at which Go looks for certificate authorities on Linux.
	rootsPath = "etc/ssl/certs/ca-certificates.crt"
	// imageUser is numeric, so that Kubernetes can verify that it is not root (runAsNonRoot).
	imageUser = "65532:65532"
)

// image returns an image for each binary, in one index. The image has no base: the service needs
// nothing of a system but the certificate authorities. They are a layer of their own, which does
// not change with the service.
func (s source) image(binaries []binary) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, built := range binaries {
		image, err := s.imageOf(built)
		if err != nil {
			return nil, fmt.Errorf("image for %s: %w", built, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: built.os, Architecture: built.arch}},
		})
	}
	return mutate.Annotations(index, s.annotations()).(v1.ImageIndex), nil
}

func (s source) imageOf(built binary) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	program, err := fileAt(built.path, project, 0o755)
	if err != nil {
		return nil, err
	}
	license, err := fileAt(filepath.Join(s.folder, "LICENSE"), "licenses/LICENSE", 0o644)
	if err != nil {
		return nil, err
	}
	image, err = s.withLayer(image, "certificate authorities", file{rootsPath, rootCertificates(), 0o644})
	if err == nil {
		image, err = s.withLayer(image, project+" "+s.version, program, license)
	}
	if err != nil {
		return nil, err
	}
	image, err = s.withConfig(image, built)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, s.annotations()).(v1.Image), nil
}

// withLayer returns an image with one more layer.
func (s source) withLayer(image v1.Image, comment string, files ...file) (v1.Image, error) {
	var content bytes.Buffer
	if err := writeTar(&content, files, s.time); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	history := v1.History{Created: v1.Time{Time: s.time}, CreatedBy: "tools/release", Comment: comment}
	return mutate.Append(image, mutate.Addendum{Layer: layer, History: history, MediaType: types.OCILayer})
}

func (s source) withConfig(image v1.Image, built binary) (v1.Image, error) {
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = built.os, built.arch
	config.Created = v1.Time{Time: s.time}
	config.Config = v1.Config{
		Entrypoint: []string{"/" + project},
		User:       imageUser,
		WorkingDir: "/",
		Labels:     maps.Clone(s.annotations()),
		// The ports that the chart uses: with TLS, and in plain text.
		ExposedPorts: map[string]struct{}{"8443/tcp": {}, "8080/tcp": {}},
	}
	return mutate.ConfigFile(image, config)
}

// annotations returns what registries show of the image. Docker shows them as labels.
func (s source) annotations() map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title":         project,
		prefix + "description":   description,
		prefix + "version":       s.version,
		prefix + "revision":      s.revision,
		prefix + "created":       s.timestamp(),
		prefix + "licenses":      "Apache-2.0",
		prefix + "source":        home,
		prefix + "documentation": home + "#readme",
	}
}
