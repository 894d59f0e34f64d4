package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestImage_IsTheSameFromEachFolder builds the image twice, from copies of the source in different
// folders, and looks into it.
func TestImage_IsTheSameFromEachFolder(t *testing.T) {
	t.Parallel()
	first, folder := imageOf(t, copySource(t))
	second, again := imageOf(t, copySource(t))
	if digestOf(t, first) != digestOf(t, second) {
		t.Errorf("digests %s and %s", digestOf(t, first), digestOf(t, second))
	}
	wantSameFiles(t, folder, again)
	succeeds(t, validate.Index(first))
	for _, p := range imagePlatforms {
		t.Run(p.String(), func(t *testing.T) { wantConfigured(t, imageFor(t, first, p), p) })
	}
	t.Run("trusts authorities", func(t *testing.T) { wantTrusts(t, imageFor(t, first, imagePlatforms[0])) })
	t.Run("runs", func(t *testing.T) { wantRuns(t, first) })
	t.Run("can be pushed", func(t *testing.T) { wantCanBePushed(t, folder) })
	t.Run("has a list of its components", func(t *testing.T) { wantListed(t, folder, first) })
}

// imageOf builds the image, and returns it as it is read from the layout, and the output folder.
func imageOf(t *testing.T, from source) (v1.ImageIndex, string) {
	t.Helper()
	output := t.TempDir()
	succeeds(t, buildImage(from, output))
	index, err := readLayout(filepath.Join(output, "image"))
	succeeds(t, err)
	return index, output
}

func digestOf(t *testing.T, index v1.ImageIndex) string {
	t.Helper()
	digest, err := index.Digest()
	succeeds(t, err)
	return digest.String()
}

func wantSameFiles(t *testing.T, one, other string) {
	t.Helper()
	files, err := filesBelow(one, "")
	succeeds(t, err)
	for _, each := range files {
		content, err := os.ReadFile(filepath.Join(other, each.name))
		if err != nil || !bytes.Equal(content, each.content) {
			t.Errorf("%s differs: %v", each.name, err)
		}
	}
}

// imageFor returns the image for a platform, as a container engine chooses it.
func imageFor(t *testing.T, index v1.ImageIndex, p platform) v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	succeeds(t, err)
	for _, each := range manifest.Manifests {
		if each.Platform.OS == p.os && each.Platform.Architecture == p.arch {
			image, err := index.Image(each.Digest)
			succeeds(t, err)
			return image
		}
	}
	t.Fatalf("there is no image for %s", p)
	return nil
}

func wantConfigured(t *testing.T, image v1.Image, p platform) {
	t.Helper()
	file, err := image.ConfigFile()
	succeeds(t, err)
	config := file.Config
	if file.OS != p.os || file.Architecture != p.arch || file.Created.Unix() != 1_700_000_000 {
		t.Errorf("platform %s/%s, created %s", file.OS, file.Architecture, file.Created)
	}
	if config.User != "65532:65532" || len(config.Entrypoint) != 1 || config.Entrypoint[0] != "/kubeconnect" || config.Cmd != nil {
		t.Errorf("user %s, entrypoint %q, command %q", config.User, config.Entrypoint, config.Cmd)
	}
	for _, port := range []string{"8443/tcp", "8080/tcp"} {
		if _, ok := config.ExposedPorts[port]; !ok {
			t.Errorf("port %s is not exposed", port)
		}
	}
	manifest, err := image.Manifest()
	succeeds(t, err)
	for key, want := range map[string]string{"revision": commit, "licenses": "Apache-2.0", "created": "2023-11-14T22:13:20Z"} {
		key = "org.opencontainers.image." + key
		if config.Labels[key] != want || manifest.Annotations[key] != want {
			t.Errorf("label %s is %q, annotation %q, want %q", key, config.Labels[key], manifest.Annotations[key], want)
		}
	}
	if size := sizeOf(manifest); size > 64<<20 {
		t.Errorf("the image has %d MiB", size>>20)
	}
}

func sizeOf(manifest *v1.Manifest) (size int64) {
	for _, layer := range manifest.Layers {
		size += layer.Size
	}
	return size
}

// wantTrusts parses the certificate authorities as Go does.
func wantTrusts(t *testing.T, image v1.Image) {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(contentOf(t, image, "etc/ssl/certs/ca-certificates.crt")) {
		t.Fatal("no certificate authority")
	}
	if count := bytes.Count(contentOf(t, image, rootsPath), []byte("BEGIN CERTIFICATE")); count < 50 {
		t.Errorf("%d certificate authorities", count)
	}
}

// contentOf returns a file of an image.
func contentOf(t *testing.T, image v1.Image, path string) []byte {
	t.Helper()
	extracted := mutate.Extract(image)
	defer func() { _ = extracted.Close() }()
	files := tar.NewReader(extracted)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("the image has no %s", path)
		}
		succeeds(t, err)
		if header.Name == path {
			content, err := io.ReadAll(files)
			succeeds(t, err)
			return content
		}
	}
}

// wantRuns runs the binary of the image without the environment of this machine.
func wantRuns(t *testing.T, index v1.ImageIndex) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the binary of the image is for Linux")
	}
	path := filepath.Join(t.TempDir(), project)
	succeeds(t, os.WriteFile(path, contentOf(t, imageFor(t, index, platform{"linux", runtime.GOARCH}), project), 0o755))
	command := exec.Command(path, "version", "--output", "json")
	command.Env = []string{}
	printed, err := command.Output()
	succeeds(t, err)
	var info struct{ Version, Revision, Time string }
	succeeds(t, json.Unmarshal(printed, &info))
	manifest, err := index.IndexManifest()
	succeeds(t, err)
	version := manifest.Annotations["org.opencontainers.image.version"]
	if info.Version != version || info.Revision != commit || info.Time != "2023-11-14T22:13:20Z" {
		t.Errorf("the binary prints %s, the image has version %s", printed, version)
	}
}

// wantCanBePushed pushes the image to a registry, and pulls it.
func wantCanBePushed(t *testing.T, folder string) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	reference := strings.TrimPrefix(server.URL, "http://") + "/team/kubeconnect:test"
	succeeds(t, push(filepath.Join(folder, "image"), reference))
	parsed, err := name.ParseReference(reference)
	succeeds(t, err)
	pulled, err := remote.Index(parsed)
	succeeds(t, err)
	local, err := readLayout(filepath.Join(folder, "image"))
	succeeds(t, err)
	if digestOf(t, pulled) != digestOf(t, local) {
		t.Errorf("the registry has %s", digestOf(t, pulled))
	}
	succeeds(t, validate.Index(pulled))
}
