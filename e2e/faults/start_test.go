package faults_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestStart_InvalidFlagsAreRejected(t *testing.T) {
	t.Parallel()
	absent := filepath.Join(t.TempDir(), "absent")
	kubeconfig := kit.Cluster(t).Kubeconfig
	for name, test := range map[string]struct {
		flags []string
		words []string
	}{
		"without authentication on every address": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "0.0.0.0:0", "--auth", "none"},
			words: []string{"0.0.0.0:0", "loopback", "--auth cluster"},
		},
		"without authentication on an unspecified address": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", ":0", "--auth", "none"},
			words: []string{":0", "loopback"},
		},
		"without authentication on a name that is not local": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "localhost.example.com:0", "--auth", "none"},
			words: []string{"localhost.example.com:0", "loopback"},
		},
		"with an unknown authentication": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--auth", "some"},
			words: []string{"--auth", "some", "cluster", "none"},
		},
		"with an invalid address": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "nowhere", "--auth", "none"},
			words: []string{"nowhere"},
		},
		"with a missing kubeconfig": {
			flags: []string{"--kubeconfig", absent, "--listen", "127.0.0.1:0", "--auth", "none"},
			words: []string{absent},
		},
		"with an unknown context": {
			flags: []string{"--kubeconfig", kubeconfig, "--context", "elsewhere", "--listen", "127.0.0.1:0", "--auth", "none"},
			words: []string{"elsewhere"},
		},
		"with a certificate without a key": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--auth", "none", "--tls-cert-file", absent},
			words: []string{"--tls-private-key-file"},
		},
		"with a missing certificate": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--auth", "none",
				"--tls-cert-file", absent, "--tls-private-key-file", absent},
			words: []string{absent},
		},
		"in plain text on every address": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "0.0.0.0:0", "--auth", "cluster"},
			words: []string{"0.0.0.0:0", "plain text", "--tls-cert-file", "--allow-plaintext"},
		},
		"with every origin": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--auth", "cluster", "--cors-origin", "*"},
			words: []string{"--cors-origin", "in full"},
		},
		"with another origin and without authentication": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--auth", "none", "--cors-origin", "https://a.example"},
			words: []string{"--cors-origin", "--auth cluster"},
		},
		"with a negative number of streams": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--auth", "none", "--caller-max-streams", "-1"},
			words: []string{"--caller-max-streams"},
		},
		"with an unknown flag": {
			flags: []string{"--frobnicate"}, words: []string{"--frobnicate"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := harness.RunService(t, test.flags...)
			var exit *exec.ExitError
			if err := process.Wait(kit.Deadline(t)); !errors.As(err, &exit) || exit.ExitCode() <= 0 {
				t.Errorf("the service exited: %v, want an exit code", err)
			}
			kit.WantWords(t, process.Output(), test.words...)
		})
	}
}
