package e2e_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

func TestTheServiceRefusesToStartAndSaysWhy(t *testing.T) {
	t.Parallel()
	absent := filepath.Join(t.TempDir(), "absent")
	kubeconfig := cluster(t).Kubeconfig
	for name, test := range map[string]struct {
		flags []string
		words []string
	}{
		"without authentication on every address": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "0.0.0.0:0", "--auth", "none"},
			words: []string{"0.0.0.0:0", "loopback", "--auth cluster"},
		},
		"without authentication on no address in particular": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", ":0", "--auth", "none"},
			words: []string{":0", "loopback"},
		},
		"without authentication on a name that is not this machine's alone": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "localhost.example.com:0", "--auth", "none"},
			words: []string{"localhost.example.com:0", "loopback"},
		},
		"with an authentication that there is not": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--auth", "some"},
			words: []string{"--auth", "some", "cluster", "none"},
		},
		"with an address that is none": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "nowhere", "--auth", "none"},
			words: []string{"nowhere"},
		},
		"with a kubeconfig that is not there": {
			flags: []string{"--kubeconfig", absent, "--listen", "127.0.0.1:0", "--auth", "none"},
			words: []string{absent},
		},
		"with a context that the kubeconfig does not have": {
			flags: []string{"--kubeconfig", kubeconfig, "--context", "elsewhere", "--listen", "127.0.0.1:0", "--auth", "none"},
			words: []string{"elsewhere"},
		},
		"with a certificate but no key": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--auth", "none", "--tls-cert-file", absent},
			words: []string{"--tls-private-key-file"},
		},
		"with a certificate that is not there": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--auth", "none",
				"--tls-cert-file", absent, "--tls-private-key-file", absent},
			words: []string{absent},
		},
		"in plain text on every address": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "0.0.0.0:0", "--auth", "cluster"},
			words: []string{"0.0.0.0:0", "plain text", "--tls-cert-file", "--allow-plaintext"},
		},
		"with pages of every origin": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--auth", "cluster", "--cors-origin", "*"},
			words: []string{"--cors-origin", "in full"},
		},
		"with pages of another origin and without authentication": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--auth", "none", "--cors-origin", "https://a.example"},
			words: []string{"--cors-origin", "--auth cluster"},
		},
		"with fewer streams than none": {
			flags: []string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--auth", "none", "--caller-max-streams", "-1"},
			words: []string{"--caller-max-streams"},
		},
		"with a flag that there is not": {
			flags: []string{"--frobnicate"}, words: []string{"--frobnicate"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := harness.RunService(t, test.flags...)
			var exit *exec.ExitError
			if err := process.Wait(deadline(t)); !errors.As(err, &exit) || exit.ExitCode() <= 0 {
				t.Errorf("the service ended with %v, want an exit code", err)
			}
			wantWords(t, process.Output(), test.words...)
		})
	}
}
