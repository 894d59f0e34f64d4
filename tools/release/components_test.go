package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// wantListed checks that the lists describe the binaries of the image.
func wantListed(t *testing.T, folder string, index v1.ImageIndex) {
	t.Helper()
	for _, p := range imagePlatforms {
		paths, err := filepath.Glob(filepath.Join(folder, "*_"+p.os+"_"+p.arch+".cdx.json"))
		succeeds(t, err)
		if len(paths) != 1 {
			t.Fatalf("lists for %s: %q", p, paths)
		}
		list := readList(t, paths[0])
		sum := sha256.Sum256(contentOf(t, imageFor(t, index, p), project))
		if hash := (*list.Metadata.Component.Hashes)[0].Value; hash != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: the list is of another binary", p)
		}
		wantComponents(t, *list.Components)
	}
}

func readList(t *testing.T, path string) *cdx.BOM {
	t.Helper()
	text, err := os.Open(path)
	succeeds(t, err)
	defer func() { _ = text.Close() }()
	list := new(cdx.BOM)
	succeeds(t, cdx.NewBOMDecoder(text, cdx.BOMFileFormatJSON).Decode(list))
	return list
}

// wantComponents checks for a part of each kind, and that the tools of the development are not listed.
func wantComponents(t *testing.T, components []cdx.Component) {
	t.Helper()
	versions := map[string]string{}
	for _, one := range components {
		if one.Version == "" || one.PackageURL == "" {
			t.Errorf("%s has version %q, address %q", one.Name, one.Version, one.PackageURL)
		}
		versions[one.Name] = one.Version
	}
	for _, name := range []string{"stdlib", "k8s.io/client-go", "connectrpc.com/connect/v2", "react", "@bufbuild/protobuf"} {
		if versions[name] == "" {
			t.Errorf("%s is not listed", name)
		}
	}
	for _, name := range []string{"eslint", "vite", "playwright-core", "pgregory.net/rapid"} {
		if versions[name] != "" {
			t.Errorf("%s is listed, which no user gets", name)
		}
	}
}
