package main

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
)

func TestCertificates_VerifyAgainstTheirAuthority(t *testing.T) {
	dir := makeAll(t)
	for _, spec := range certificates {
		t.Run(spec.name, func(t *testing.T) {
			leaf := load(t, dir, spec.name)
			options := x509.VerifyOptions{Roots: pool(t, dir, spec.authority), KeyUsages: spec.usage()}
			if _, err := leaf.Verify(options); err != nil {
				t.Error(err)
			}
			if leaf.Subject.CommonName != spec.user {
				t.Errorf("common name %q, want %q", leaf.Subject.CommonName, spec.user)
			}
			for _, host := range spec.hosts {
				if err := leaf.VerifyHostname(host); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestCertificates_OfOtherAuthoritiesAreNotVerified(t *testing.T) {
	dir := makeAll(t)
	options := x509.VerifyOptions{Roots: pool(t, dir, etcdCA), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	if _, err := load(t, dir, adminUser).Verify(options); err == nil {
		t.Error("etcd accepts the cluster's administrator")
	}
}

func TestCertificates_AdministratorIsInSystemMasters(t *testing.T) {
	groups := load(t, makeAll(t), adminUser).Subject.Organization
	if len(groups) != 1 || groups[0] != "system:masters" {
		t.Errorf("groups %q", groups)
	}
}

func TestCertificates_ExistingOnesAreKept(t *testing.T) {
	dir := makeAll(t)
	before := contents(t, dir)
	if err := makeCertificates(dir); err != nil {
		t.Fatal(err)
	}
	for path, content := range contents(t, dir) {
		if !bytes.Equal(content, before[path]) {
			t.Errorf("%s changed", path)
		}
	}
}

func TestCertificates_MissingOnesAreCreated(t *testing.T) {
	dir := makeAll(t)
	if err := os.Remove(dir.pki(adminUser + ".crt")); err != nil {
		t.Fatal(err)
	}
	if err := makeCertificates(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := clientWith(dir, clusterCA, adminUser); err != nil {
		t.Errorf("certificate and key do not match: %v", err)
	}
}

func TestCertificates_FilesAreReadableByTheOwnerOnly(t *testing.T) {
	for path := range contents(t, makeAll(t)) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %v", path, mode)
		}
	}
}

func makeAll(t *testing.T) layout {
	t.Helper()
	dir := newDir(t)
	if err := makeCertificates(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func load(t *testing.T, dir layout, name string) *x509.Certificate {
	t.Helper()
	content, err := readPEM(dir.pki(name + ".crt"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(content)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func pool(t *testing.T, dir layout, authority string) *x509.CertPool {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(load(t, dir, authority))
	return roots
}

func contents(t *testing.T, dir layout) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(dir.pki("*"))
	if err != nil {
		t.Fatal(err)
	}
	read := map[string][]byte{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		read[file] = content
	}
	return read
}
