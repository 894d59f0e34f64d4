package serving

import (
	"context"
	"crypto/x509"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/cmd/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// life is the validity of a certificate.
type life struct{ begins, ends time.Time }

func today() life { return life{time.Now().Add(-time.Hour), time.Now().Add(24 * time.Hour)} }

// newPair returns a self-signed certificate for this machine, and its key.
func newPair(t *testing.T, serial int64, life life) pemPair {
	t.Helper()
	certificate, key := servertest.Signed(t, &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: life.begins, NotAfter: life.ends,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	})
	return pemPair{certificate, key}
}

// secret is a folder at which Kubernetes mounts a Secret: its files are links through ..data, which
// is replaced atomically.
type secret struct{ dir string }

func (s secret) certFile() string { return filepath.Join(s.dir, "tls.crt") }
func (s secret) keyFile() string  { return filepath.Join(s.dir, "tls.key") }

func mountSecret(t *testing.T, pair pemPair) secret {
	t.Helper()
	s := secret{t.TempDir()}
	s.replace(t, pair)
	for _, file := range []string{"tls.crt", "tls.key"} {
		succeeds(t, os.Symlink(filepath.Join("..data", file), filepath.Join(s.dir, file)))
	}
	return s
}

// replace updates the folder as the kubelet does when the Secret has changed.
func (s secret) replace(t *testing.T, pair pemPair) {
	t.Helper()
	next, err := os.MkdirTemp(s.dir, "..version")
	succeeds(t, err)
	succeeds(t, os.WriteFile(filepath.Join(next, "tls.crt"), []byte(pair.certificate), 0o600))
	succeeds(t, os.WriteFile(filepath.Join(next, "tls.key"), []byte(pair.key), 0o600))
	succeeds(t, os.Symlink(filepath.Base(next), filepath.Join(s.dir, "..next")))
	succeeds(t, os.Rename(filepath.Join(s.dir, "..next"), filepath.Join(s.dir, "..data")))
}

func (s secret) load(t *testing.T) *keyPair {
	t.Helper()
	pair, err := loadKeyPair(s.certFile(), s.keyFile())
	succeeds(t, err)
	return pair
}

func wantSerial(t *testing.T, pair *keyPair, want int64) {
	t.Helper()
	if got := pair.current.Load().Leaf.SerialNumber.Int64(); got != want {
		t.Errorf("the certificate has the number %d, want %d", got, want)
	}
}

// TestKeyPair_ReloadsReplacedFiles uses fake time.
func TestKeyPair_ReloadsReplacedFiles(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		servertest.CaptureLog(t)
		files := mountSecret(t, newPair(t, 1, today()))
		pair := files.load(t)
		ctx, stop := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { pair.follow(ctx) })
		for serial := range int64(4) {
			files.replace(t, newPair(t, serial, today()))
			time.Sleep(reloadInterval)
			synctest.Wait()
			wantSerial(t, pair, serial)
		}
		stop()
		following.Wait()
	})
}

func TestKeyPair_InvalidPairIsLoggedOnceAndNotUsed(t *testing.T) {
	good, other := newPair(t, 1, today()), newPair(t, 2, today())
	for name, broken := range map[string]pemPair{
		"no certificate":                {"nothing", good.key},
		"no key":                        {good.certificate, ""},
		"a key of another":              {good.certificate, other.key},
		"a certificate of another":      {other.certificate, good.key},
		"certificate and key exchanged": {good.key, good.certificate},
	} {
		t.Run(name, func(t *testing.T) {
			logged := servertest.CaptureLog(t)
			files := mountSecret(t, good)
			pair := files.load(t)
			files.replace(t, broken)
			for range 5 {
				pair.reload()
			}
			wantSerial(t, pair, 1)
			if count := logged.Count("level=ERROR"); count != 1 {
				t.Errorf("%d errors were logged: %s", count, logged.String())
			}
			files.replace(t, newPair(t, 3, today()))
			pair.reload()
			wantSerial(t, pair, 3)
		})
	}
}

func TestKeyPair_MissingFilesKeepTheCertificate(t *testing.T) {
	logged := servertest.CaptureLog(t)
	files := mountSecret(t, newPair(t, 1, today()))
	pair := files.load(t)
	succeeds(t, os.Remove(files.certFile()))
	for range 3 {
		pair.reload()
	}
	wantSerial(t, pair, 1)
	if logged.Count("tls-cert-file") != 1 {
		t.Errorf("the log is: %s", logged.String())
	}
}

// TestKeyPair_SeparateReplacementOfFilesLogsNoError reloads between the two replacements.
func TestKeyPair_SeparateReplacementOfFilesLogsNoError(t *testing.T) {
	logged := servertest.CaptureLog(t)
	first, second := newPair(t, 1, today()), newPair(t, 2, today())
	files := mountSecret(t, first)
	pair := files.load(t)
	files.replace(t, pemPair{second.certificate, first.key})
	pair.reload()
	wantSerial(t, pair, 1)
	files.replace(t, second)
	pair.reload()
	wantSerial(t, pair, 2)
	if logged.Count("level=ERROR") != 0 {
		t.Errorf("the log is: %s", logged.String())
	}
}

func TestKeyPair_RepeatedFailureIsLoggedAgain(t *testing.T) {
	logged := servertest.CaptureLog(t)
	good := newPair(t, 1, today())
	files := mountSecret(t, good)
	pair := files.load(t)
	for range 2 {
		files.replace(t, pemPair{good.certificate, ""})
		pair.reload()
		pair.reload()
		files.replace(t, good)
		pair.reload()
	}
	if logged.Count("level=ERROR") != 2 {
		t.Errorf("the log is: %s", logged.String())
	}
}

// TestKeyPair_ExpiryIsLogged uses fake time, and a certificate with a lifetime of a hundred
// days.
func TestKeyPair_ExpiryIsLogged(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		logged, day := servertest.CaptureLog(t), 24*time.Hour
		begins := time.Now().Add(day)
		files := mountSecret(t, newPair(t, 1, life{begins, begins.Add(100 * day)}))
		pair := files.load(t)
		wantLogged := func(text string, want int) {
			t.Helper()
			pair.reload()
			pair.reload()
			if logged.Count(text) != want {
				t.Errorf("%q was not logged %d times: %s", text, want, logged.String())
			}
		}
		wantLogged("not valid yet", 1)
		time.Sleep(90 * day)
		wantLogged("expires soon", 0)
		time.Sleep(2 * day)
		wantLogged("expires soon", 1)
		time.Sleep(10 * day)
		wantLogged("has expired", 1)
		files.replace(t, newPair(t, 2, today()))
		wantLogged("serial=2", 1)
		wantLogged("has expired", 1)
	})
}
