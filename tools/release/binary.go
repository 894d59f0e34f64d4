package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// platform is a system that the service is built for.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// program returns the name of the binary.
func (p platform) program() string {
	if p.os == "windows" {
		return project + ".exe"
	}
	return project
}

// The platforms of the image, and all platforms of the binaries.
var (
	imagePlatforms  = []platform{{"linux", "amd64"}, {"linux", "arm64"}}
	binaryPlatforms = append(imagePlatforms, platform{"darwin", "amd64"}, platform{"darwin", "arm64"}, platform{"windows", "amd64"})
)

// fipsModule is the version of Go's cryptographic module in the binaries for FIPS 140: the last one that has a certificate.
// Such a binary is in FIPS 140 mode by default.
const fipsModule = "v1.0.0"

// binary is the service, built for a platform.
type binary struct {
	platform
	path string
}

// compile builds the service for a platform into a folder. The binary is static, and contains
// neither paths of this machine (-trimpath) nor symbols that only a debugger needs (-s -w).
func (s source) compile(p platform, folder string) (binary, error) {
	built := binary{p, filepath.Join(folder, s.artifact(p), p.program())}
	const variables = module + "/internal/version"
	linked := fmt.Sprintf("-s -w -X %s.revision=%s -X %s.commitTime=%s", variables, s.revision, variables, s.timestamp())
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", linked, "-o", built.path, "./cmd/server")
	command.Dir, command.Stderr = s.folder, os.Stderr
	// The last value of a variable counts. GOFLAGS and GOAMD64 of this machine would change the result.
	cryptographic := "off"
	if s.fips {
		cryptographic = fipsModule
	}
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFIPS140="+cryptographic, "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "PWD="+s.folder)
	if err := command.Run(); err != nil {
		return binary{}, fmt.Errorf("building the service for %s: %w", p, err)
	}
	return built, nil
}

// compileAll builds the service for platforms.
func (s source) compileAll(platforms []platform, folder string) (built []binary, err error) {
	for _, p := range platforms {
		one, err := s.compile(p, folder)
		if err != nil {
			return nil, err
		}
		built = append(built, one)
	}
	return built, nil
}
