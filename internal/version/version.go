// Package version has the version of this build.
package version

import (
	"crypto/fips140"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Number is the version of the service, its clients and its chart, which are released together.
const Number = "0.1.0"

// UserAgent is the user agent of the service at the API server.
const UserAgent = "kubeconnect/" + Number

// The commit and its time, in RFC 3339. The linker sets them (-X) in a build that has no repository,
// as that of a release, which is built from an archive of the commit.
var revision, commitTime string

// Info describes a build.
type Info struct {
	Version string `json:"version"`
	// Revision is the commit of the build, with the suffix "-dirty" if files were changed since. It is
	// empty if neither a repository nor the linker named the commit.
	Revision string `json:"revision,omitempty"`
	// Time is the time of the commit, in RFC 3339; empty as Revision.
	Time     string `json:"time,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// FIPS140 is the version of Go's cryptographic module if this process uses it in FIPS 140 mode: v1.0.0
	// for a frozen one, and latest for that of the standard library. It is empty otherwise.
	FIPS140 string `json:"fips140,omitempty"`
}

// Get returns the description of this build.
func Get() Info {
	info := Info{
		Version: Number, Revision: revision, Time: commitTime,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if fips140.Enabled() {
		info.FIPS140 = fips140.Version()
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		info.addSource(build.Settings)
	}
	return info
}

func (i *Info) addSource(settings []debug.BuildSetting) {
	modified := ""
	for _, setting := range settings {
		switch {
		case setting.Key == "vcs.revision":
			i.Revision = setting.Value
		case setting.Key == "vcs.time":
			i.Time = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			modified = "-dirty"
		}
	}
	if i.Revision != "" {
		i.Revision += modified
	}
}

// String returns the description as one line.
func (i Info) String() string {
	details := []string{i.Go, i.Platform}
	if i.Revision != "" {
		details = append([]string{fmt.Sprintf("commit %s of %s", i.Revision, i.Time)}, details...)
	}
	if i.FIPS140 != "" {
		details = append(details, "FIPS 140 module "+i.FIPS140)
	}
	return fmt.Sprintf("kubeconnect %s (%s)", i.Version, strings.Join(details, ", "))
}
