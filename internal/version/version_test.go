package version

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestInfo_NamesTheCommit(t *testing.T) {
	info := Info{Version: "1.2.3", Go: "go1.26", Platform: "linux/amd64"}
	if text := info.String(); text != "kubeconnect 1.2.3 (go1.26, linux/amd64)" {
		t.Errorf("without a repository: %q", text)
	}
	info.addSource([]debug.BuildSetting{
		{Key: "vcs.modified", Value: "true"},
		{Key: "vcs.revision", Value: "abc"},
		{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
	})
	if text := info.String(); text != "kubeconnect 1.2.3 (commit abc-dirty of 2026-01-02T03:04:05Z, go1.26, linux/amd64)" {
		t.Errorf("with a repository: %q", text)
	}
	info.FIPS140 = "v1.0.0"
	if text := info.String(); text != "kubeconnect 1.2.3 (commit abc-dirty of 2026-01-02T03:04:05Z, go1.26, linux/amd64, FIPS 140 module v1.0.0)" {
		t.Errorf("with a module: %q", text)
	}
}

func TestGet_DescribesThisBuild(t *testing.T) {
	text, err := json.Marshal(Get())
	if err != nil {
		t.Fatal(err)
	}
	var info map[string]string
	if err := json.Unmarshal(text, &info); err != nil {
		t.Fatal(err)
	}
	if info["version"] != Number || info["go"] != runtime.Version() || info["platform"] != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("%s", text)
	}
}
