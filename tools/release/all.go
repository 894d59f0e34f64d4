package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
)

// buildAll writes everything that is built from Go or from the chart to a folder that may have other
// artifacts already, and the checksums of all of them.
func buildAll(s source, output string) error {
	work, err := os.MkdirTemp("", project)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	binaries, err := s.compileAll(binaryPlatforms, work)
	if err != nil {
		return err
	}
	fips := s.withFIPS()
	fipsBinaries, err := fips.compileAll(imagePlatforms, work)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return fips.writeArchives(fipsBinaries, output) },
		func() error { return fips.writeComponents(fipsBinaries, output) },
		func() error { return fips.writeImage(fipsBinaries, work, output) },
		func() error { return s.writeArchives(binaries, output) },
		func() error { return s.writeComponents(binaries, output) },
		func() error { return s.writeImage(binaries[:len(imagePlatforms)], work, output) },
		func() error { return s.writeChart(work, output) },
		func() error { return s.writePlugin(output) },
		func() error { return writeChecksums(output) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// archiveName returns the name of the archive of a platform.
func (s source) archiveName(p platform) string {
	if p.os == "windows" {
		return s.artifact(p) + ".zip"
	}
	return s.artifact(p) + ".tar.gz"
}

// writeArchives writes an archive for each binary, with the license and the changes.
func (s source) writeArchives(binaries []binary, output string) error {
	for _, built := range binaries {
		program, err := fileAt(built.path, built.program(), 0o755)
		if err != nil {
			return err
		}
		files := []file{program}
		for _, name := range []string{"CHANGELOG.md", "LICENSE", "README.md"} {
			one, err := fileAt(filepath.Join(s.folder, name), name, 0o644)
			if err != nil {
				return err
			}
			files = append(files, one)
		}
		write := writeTarGz
		if built.os == "windows" {
			write = writeZip
		}
		if err := save(filepath.Join(output, s.archiveName(built.platform)), files, s.time, write); err != nil {
			return err
		}
	}
	return nil
}

// writeImage writes the image as an archive of an OCI layout.
func (s source) writeImage(binaries []binary, work, output string) error {
	folder := filepath.Join(work, "image")
	digest, err := s.writeLayout(binaries, folder)
	if err != nil {
		return err
	}
	files, err := filesBelow(folder, "")
	if err != nil {
		return err
	}
	fmt.Println(s.named("image", "-"), digest)
	return save(filepath.Join(output, s.named(project+"_"+s.version, "_")+"_image.tar"), files, s.time, writeTar)
}

// writeChart packages the chart as `helm package` does, but with the time of the commit.
func (s source) writeChart(work, output string) error {
	folder := filepath.Join(work, "chart")
	if err := chartutil.SaveDir(s.chart, folder); err != nil {
		return err
	}
	files, err := filesBelow(folder, "")
	if err != nil {
		return err
	}
	return save(filepath.Join(output, fmt.Sprintf("%s-chart-%s.tgz", project, s.version)), files, s.time, writeTarGz)
}

// checksumsName is the name of the file that `sha256sum --check` reads.
const checksumsName = "SHA256SUMS"

// writeChecksums writes the checksums of all files of a folder.
func writeChecksums(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, entry := range entries {
		if entry.IsDir() || entry.Name() == checksumsName {
			continue
		}
		sum, err := checksum(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, entry.Name())
	}
	return os.WriteFile(filepath.Join(folder, checksumsName), []byte(text.String()), 0o644)
}

// checksum returns the SHA-256 of a file in hexadecimal digits.
func checksum(path string) (string, error) {
	content, err := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(content)), err
}
