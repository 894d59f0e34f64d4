package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// artifact returns the name of an artifact of a platform, without the end.
func (s source) artifact(p platform) string {
	return fmt.Sprintf("%s_%s_%s", s.named(project+"_"+s.version, "_"), p.os, p.arch)
}

// writeComponents writes the list of components (SBOM, CycloneDX) of each binary to a folder.
func (s source) writeComponents(binaries []binary, folder string) error {
	for _, built := range binaries {
		text, err := s.components(built)
		if err != nil {
			return fmt.Errorf("components of %s: %w", built, err)
		}
		if err := os.WriteFile(filepath.Join(folder, s.artifact(built.platform)+".cdx.json"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// components returns the list of what a binary contains: the Go modules and the standard library,
// which the binary itself names, and the npm packages that the console is built from.
func (s source) components(built binary) ([]byte, error) {
	content, err := os.ReadFile(built.path)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	packages, err := s.consolePackages()
	if err != nil {
		return nil, err
	}
	return s.list(built, sha256.Sum256(content), append(goComponents(info), packages...))
}

// list returns a list of components as JSON. Its serial number is derived from the binary.
func (s source) list(built binary, sum [sha256.Size]byte, components []cdx.Component) ([]byte, error) {
	root := cdx.Component{
		BOMRef: project, Type: cdx.ComponentTypeApplication, Name: project, Version: s.version,
		Description: description + " For " + built.String() + ".",
		Hashes:      &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Licenses:    &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		PackageURL:  "pkg:golang/" + module + "@v" + s.version,
		Properties:  &[]cdx.Property{{Name: "revision", Value: s.revision}},
	}
	var references []string
	for _, one := range components {
		references = append(references, one.BOMRef)
	}
	list := cdx.NewBOM()
	list.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, sum[:]).URN()
	list.Metadata = &cdx.Metadata{Timestamp: s.timestamp(), Component: &root}
	list.Components = &components
	list.Dependencies = &[]cdx.Dependency{{Ref: root.BOMRef, Dependencies: &references}}
	var text bytes.Buffer
	err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).Encode(list)
	return text.Bytes(), err
}

// goComponents returns the standard library and the modules of a binary.
func goComponents(info *debug.BuildInfo) []cdx.Component {
	components := []cdx.Component{goComponent("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "")}
	for _, dependency := range info.Deps {
		if dependency.Replace != nil {
			dependency = dependency.Replace
		}
		components = append(components, goComponent(dependency.Path, dependency.Version, dependency.Sum))
	}
	slices.SortFunc(components, func(a, b cdx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	return components
}

// goComponent returns a Go module. The sum is that of go.sum: h1, and a SHA-256 in base64.
func goComponent(path, version, sum string) cdx.Component {
	url := "pkg:golang/" + path + "@" + version
	component := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}
	if hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil && len(hash) == sha256.Size {
		component.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(hash)}}
	}
	return component
}
