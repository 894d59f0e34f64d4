package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/cmd/server/preflight"
)

// policyFile returns a file with a policy whose only rule has a level.
func policyFile(t *testing.T, level string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	succeeds(t, os.WriteFile(file, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: "+level+"}]\n"), 0o600))
	return file
}

func TestAuditing_ErrorsNameTheFlagAndTheFile(t *testing.T) {
	invalid, missing := policyFile(t, "Request"), filepath.Join(t.TempDir(), "missing", "file")
	for name, test := range map[string]struct {
		settings config.Settings
		says     []string
	}{
		"a policy with contents":    {config.Settings{AuditLog: "-", AuditPolicy: invalid}, []string{"--audit-policy: " + invalid, "rules[0].level"}},
		"a policy that is missing":  {config.Settings{AuditLog: "-", AuditPolicy: missing}, []string{"--audit-policy: ", missing}},
		"a folder that is missing":  {config.Settings{AuditLog: missing}, []string{"--audit-log: ", missing}},
		"a folder in place of file": {config.Settings{AuditLog: t.TempDir()}, []string{"--audit-log: ", "is a directory"}},
	} {
		audited, err := newAuditing(test.settings)
		if err == nil {
			err = audited.open()
		}
		for _, text := range test.says {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %q", name, err, text)
			}
		}
	}
}

func TestCheckAudit_ReadsThePolicy(t *testing.T) {
	valid, invalid := policyFile(t, "Metadata"), policyFile(t, "All")
	for name, test := range map[string]struct {
		settings config.Settings
		want     []preflight.Outcome
	}{
		"no audit log":      {},
		"no policy":         {config.Settings{AuditLog: "-"}, []preflight.Outcome{preflight.OK}},
		"a policy":          {config.Settings{AuditLog: "-", AuditPolicy: valid}, []preflight.Outcome{preflight.OK}},
		"an invalid policy": {config.Settings{AuditLog: "-", AuditPolicy: invalid}, []preflight.Outcome{preflight.Failed}},
	} {
		results := checkAudit(test.settings)
		if len(results) != len(test.want) || len(results) == 1 && results[0].Outcome != test.want[0] {
			t.Errorf("%s: %+v", name, results)
		}
	}
}
