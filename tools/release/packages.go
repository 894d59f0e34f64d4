package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// lockedPackage is a package in a package-lock.json.
type lockedPackage struct {
	Version string
	License string
	// Packages that only the development needs, and folders of the repository.
	Dev, DevOptional, Link bool
}

// consolePackages returns the npm packages that the console is built from: those that the clients
// need when they run. The bundler leaves out what no page imports, so these are all that the console
// can contain.
func (s source) consolePackages() ([]cdx.Component, error) {
	text, err := os.ReadFile(filepath.Join(s.folder, "clients", "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct{ Packages map[string]lockedPackage }
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	var components []cdx.Component
	for _, path := range slices.Sorted(maps.Keys(lock.Packages)) {
		locked := lock.Packages[path]
		if _, name, ok := cutLast(path, "node_modules/"); ok && !locked.Dev && !locked.DevOptional && !locked.Link {
			components = append(components, locked.component(name))
		}
	}
	if len(components) == 0 {
		return nil, errors.New("clients/package-lock.json has no packages")
	}
	return components, nil
}

func (p lockedPackage) component(name string) cdx.Component {
	// A package URL has no @ in its name.
	url := "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version
	component := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: name, Version: p.Version, PackageURL: url}
	if p.License != "" {
		component.Licenses = &cdx.Licenses{{Expression: p.License}}
	}
	return component
}

// cutLast cuts a text at the last occurrence of a separator.
func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}
