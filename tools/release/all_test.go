package main

import (
	"archive/zip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"
)

// placeholders returns small files instead of binaries, for tests of what contains them.
func placeholders(t *testing.T) (all []binary) {
	t.Helper()
	for _, p := range binaryPlatforms {
		path := filepath.Join(t.TempDir(), p.program())
		succeeds(t, os.WriteFile(path, []byte(p.String()), 0o755))
		all = append(all, binary{p, path})
	}
	return all
}

// packed writes the archives, the chart, the plugin and the checksums of placeholders.
func packed(t *testing.T) (source, string) {
	t.Helper()
	from, output := copySource(t), t.TempDir()
	succeeds(t, from.writeArchives(placeholders(t), output))
	succeeds(t, from.writeChart(t.TempDir(), output))
	succeeds(t, from.writePlugin(output))
	succeeds(t, writeChecksums(output))
	return from, output
}

func TestArtifacts_AreTheSameFromEachFolder(t *testing.T) {
	t.Parallel()
	_, one := packed(t)
	_, other := packed(t)
	wantSameFiles(t, one, other)
}

func TestArchives_HaveTheProgramAndTheLicense(t *testing.T) {
	t.Parallel()
	from, output := packed(t)
	for _, p := range binaryPlatforms {
		folder := unpack(t, filepath.Join(output, from.archiveName(p)))
		for _, name := range []string{p.program(), "LICENSE", "CHANGELOG.md", "README.md"} {
			if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
		if info, err := os.Stat(filepath.Join(folder, p.program())); err != nil || p.os != "windows" && info.Mode().Perm() != 0o755 {
			t.Errorf("%s: mode %s, %v", p, info.Mode(), err)
		}
	}
}

// TestFIPS_ArtifactsHaveNamesOfTheirOwn writes the archives of both kinds to one folder.
func TestFIPS_ArtifactsHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	from, output := packed(t)
	linux := placeholders(t)[:len(imagePlatforms)]
	succeeds(t, from.withFIPS().writeArchives(linux, output))
	for _, p := range imagePlatforms {
		name := fmt.Sprintf("kubeconnect_%s_fips_linux_%s.tar.gz", from.version, p.arch)
		if _, err := os.Stat(filepath.Join(output, name)); err != nil || from.withFIPS().archiveName(p) != name {
			t.Errorf("%s: %v, the archive is %s", name, err, from.withFIPS().archiveName(p))
		}
	}
	if found, err := filepath.Glob(filepath.Join(output, "*.tar.gz")); err != nil || len(found) != len(binaryPlatforms)-1+len(imagePlatforms) { // Windows has a .zip
		t.Errorf("the archives are %v, %v", found, err)
	}
}

// unpack unpacks an archive into a new folder, with the programs that users have.
func unpack(t *testing.T, path string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if filepath.Ext(path) != ".zip" {
		if printed, err := exec.Command("tar", "-xzf", path, "-C", folder).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, printed)
		}
		return folder
	}
	archive, err := zip.OpenReader(path)
	succeeds(t, err)
	defer func() { _ = archive.Close() }()
	succeeds(t, os.CopyFS(folder, archive))
	return folder
}

func TestChecksums_AreThoseOfAllFiles(t *testing.T) {
	t.Parallel()
	_, output := packed(t)
	text, err := os.ReadFile(filepath.Join(output, checksumsName))
	succeeds(t, err)
	entries, err := os.ReadDir(output)
	succeeds(t, err)
	if lines := strings.Count(string(text), "\n"); lines != len(entries)-1 {
		t.Errorf("%d checksums of %d files", lines, len(entries)-1)
	}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got, err := checksum(filepath.Join(output, name)); err != nil || got != sum {
			t.Errorf("%s has %s, %v", name, got, err)
		}
	}
}

// TestChart_IsThatOfTheSource loads the packaged chart as `helm install` does.
func TestChart_IsThatOfTheSource(t *testing.T) {
	t.Parallel()
	from, output := packed(t)
	packaged, err := loader.Load(filepath.Join(output, "kubeconnect-chart-"+from.version+".tgz"))
	succeeds(t, err)
	succeeds(t, packaged.Validate())
	if packaged.Metadata.Version != from.version || len(packaged.Templates) != len(from.chart.Templates) || packaged.Schema == nil {
		t.Errorf("version %s, %d templates", packaged.Metadata.Version, len(packaged.Templates))
	}
}

// TestPlugin_InstallsTheArchives checks the rules of krew for a manifest (its package
// internal/index/validation), and that the archives are those of the release.
func TestPlugin_InstallsTheArchives(t *testing.T) {
	t.Parallel()
	from, output := packed(t)
	text, err := os.ReadFile(filepath.Join(output, "live-state.yaml"))
	succeeds(t, err)
	var manifest plugin
	succeeds(t, yaml.UnmarshalStrict(text, &manifest))
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+`).MatchString(manifest.Spec.Version) {
		t.Errorf("version %s", manifest.Spec.Version)
	}
	if short := manifest.Spec.ShortDescription; short == "" || len(short) > 51 || strings.ContainsAny(short, "\n.") {
		t.Errorf("short description %q", short)
	}
	if len(manifest.Spec.Platforms) != len(binaryPlatforms) {
		t.Errorf("%d platforms", len(manifest.Spec.Platforms))
	}
	for _, each := range manifest.Spec.Platforms {
		name := filepath.Base(each.URI)
		folder := unpack(t, filepath.Join(output, name))
		program, err := os.ReadFile(filepath.Join(folder, each.Bin))
		labels := each.Selector.MatchLabels
		if err != nil || string(program) != labels["os"]+"/"+labels["arch"] || len(labels) != 2 {
			t.Errorf("%s has the program of %q, %v", name, program, err)
		}
		if sum, err := checksum(filepath.Join(output, name)); err != nil || sum != each.SHA256 || !strings.Contains(each.URI, "/v"+from.version+"/") {
			t.Errorf("%s: checksum %s, %v", each.URI, each.SHA256, err)
		}
	}
}

// TestPluginName_IsAllowed checks the naming guide of krew.
func TestPluginName_IsAllowed(t *testing.T) {
	t.Parallel()
	if !regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`).MatchString(pluginName) || strings.HasPrefix(pluginName, "kube") {
		t.Errorf("name %s", pluginName)
	}
}

func TestRun_RejectsIncompleteCommands(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"publish"}, {"image"}, {"push", "image"}, {"all", "-source", root, "-output", t.TempDir()}} {
		if err := run(args); err == nil || !strings.Contains(err.Error(), "usage") {
			t.Errorf("%q: error %v", args, err)
		}
	}
}
