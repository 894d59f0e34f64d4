package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// rootCertificates returns the certificate authorities that the image trusts, in PEM: those of
// Mozilla, which the Go project keeps up to date in golang.org/x/crypto/x509roots. They are a file
// of the image and not a part of the binary, because an operator can then mount another file over
// it, and the service on a machine trusts what the machine trusts. An authority that Mozilla trusts
// only for certificates up to a date is left out: a file cannot express the date.
func rootCertificates() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a Buffer has no errors
		}
	}
	return text.Bytes()
}
